package joining

import (
	"fmt"
	"strings"
	"testing"
)

var kept string // so that no result is optimized away

func TestBothJoin(t *testing.T) {
	parts := []string{"a", "", "bc"}
	for _, join := range []func([]string) string{Plus, Builder} {
		if got := join(parts); got != "abc" {
			t.Errorf("%q", got)
		}
	}
}

func BenchmarkPlus(b *testing.B)    { measure(b, Plus) }
func BenchmarkBuilder(b *testing.B) { measure(b, Builder) }

func measure(b *testing.B, join func([]string) string) {
	for _, n := range []int{10, 1000} {
		parts := strings.Split(strings.Repeat("part ", n), " ")
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i++ {
				kept = join(parts)
			}
		})
	}
}
