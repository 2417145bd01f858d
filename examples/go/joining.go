// Package joining makes one text of many.
package joining

import "strings"

// Plus adds part by part to a text, which is copied each time.
func Plus(parts []string) string {
	text := ""
	for _, part := range parts {
		text += part
	}
	return text
}

// Builder lets a strings.Builder grow.
func Builder(parts []string) string {
	var text strings.Builder
	for _, part := range parts {
		text.WriteString(part)
	}
	return text.String()
}
