"""The grammar of formulas and of declarations, in Lark's notation, and what its terminals are called in messages.

One grammar for numbers, methods and formulas: whether ``(a)`` is a number, a method or a formula shows only in what
follows it. What the SPL paper's own tool wrote (``for ( i{1,2} ) M[G](i) <= (1, 1.1) N[H](i)``) is part of it.
"""

from __future__ import annotations

from hati.core.units import is_unit
from hati.logic.syntax.names import KEYWORDS, REVISION

_UNITS = [*("ns", "us", "µs", "μs", "ms", "s", "min", "h"), *("kB", "MB", "GB", "KiB", "MiB", "GiB", "B")]
_UNITS += [*("Hz", "mJ", "kJ", "J", "mW", "kW", "W")]
UNITS = tuple(unit for unit in _UNITS if is_unit(unit))
"""The units that follow a number without quotes, beside ``%``."""

_GRAMMAR = r"""
statement: DECLARE WORD _ASSIGN formula                  -> declaration
    | DECLARE WORD _ASSIGN braces                        -> declaration
    | LABEL formula                                      -> labelled
    | TEXT _COLON formula                                -> labelled
    | formula                                            -> unlabelled

?formula: disjunction
    | disjunction _IMPLIES formula                       -> implies
?disjunction: conjunction
    | conjunction (_OR conjunction)+                     -> any_of
?conjunction: negation
    | negation (_AND negation)+                          -> all_of
?negation: relation
    | NOT negation                                       -> negate
    | QUANTIFIER binding (_COMMA binding)* _COLON formula -> quantified
    | QUANTIFIER target _IN bare _COLON? formula         -> quantified_bare
    | QUANTIFIER _LPAR columns+ _RPAR _COLON? formula    -> quantified_columns

binding: target _IN braces
    | target _IN WORD                                    -> binding_of_set
target: WORD
    | _LPAR WORD (_COMMA WORD)+ _RPAR
bare: bare_element (_COMMA bare_element)*
?bare_element: NUMBER                                    -> number
    | bare_number _RANGE bare_number                     -> range
bare_number: NUMBER                                      -> number
columns: WORD braces
    | _LPAR WORD (_COMMA WORD)+ _RPAR braces
braces: _LBRACE element (_COMMA element)* _RBRACE
?element: formula
    | sum _RANGE sum                                     -> range
    | sum _RANGE sum _STEP sum                           -> range
    | _LPAR formula (_COMMA formula)+ _RPAR              -> row

?relation: sum
    | sum tail+ margin*                                  -> relation
?tail: RELATION sum                                      -> plain_tail
    | RELATION _LPAR entry (_COMMA entry)+ _RPAR sum     -> lambda_tail
    | RELATION _LPAR lambda _RPAR sum                    -> lambda_tail
    | RELATION _LPAR formula _RPAR call                  -> epsilon_tail
?entry: lambda | formula
lambda: LAMBDA sum
    | PRINTED sum
    | PRINTED scaled
scaled: NUMBER WORD
margin: MARGIN unary
    | STRICTLY                                           -> strictly

?sum: product
    | product (SIGN product)+                            -> operation
?product: unary
    | unary (TIMES unary)+                               -> operation
?unary: power
    | SIGN unary                                         -> signed
?power: atom
    | atom _POWER unary                                  -> power
?atom: NUMBER                                            -> number
    | NUMBER (UNIT | TEXT)                               -> number
    | TEXT                                               -> text
    | TRUTH                                              -> truth
    | call
    | (WORD | TEXT) _OF atom                             -> metric
    | _LPAR formula _RPAR

call: (WORD | NAME | BACKQUOTED | QUALIFIED | QUANTILE) suffix*
?suffix: _LPAR [formula (_COMMA formula)*] _RPAR         -> arguments
    | LBRACKET [formula (_COMMA formula)*] _RBRACKET     -> generators
    | REVISION
    | MEMBER
    | QUALIFIED

DECLARE.5: /(alias|generator|constant)(?=\s+[^\W\d]\w*\s*=)/
LABEL.4: /[^\W\d]\w*[ \t]*:(?!\w)/
PRINTED.4: /λ\s*[^\W\d]\w*\s*\.(?!\.)/
LAMBDA.3: /[^\W\d]\w*[ \t]*:(?=[\s\d(.+-])|[^\W\d]:(?=[^\W\d]\b(?![.:]))/
QUANTIFIER.3: /for\s+all(?!\w)|forall(?![\w.:])|for(?![\w.:])|exists(?![\w.:])|∀|∃/
QUANTILE.2: /p[0-9]+(\.[0-9]+)?(?=\s*\()/
NOT.2: /!(?!=)|¬|not(?![\w.:])/
_AND.2: /&|∧|and(?![\w.:])/
_OR.2: /\||∨|or(?![\w.:])/
_IMPLIES.2: /==>|=>|⇒|implies(?![\w.:])/
_IN.2: /in(?![\w.:])|∈/
_OF.2: /of(?![\w.:])/
_STEP.2: /step(?![\w.:])/
STRICTLY.2: /strictly(?![\w.:])/
MARGIN.2: /\+-|\+\/-|±|within(?![\w.:])/
TRUTH.2: /(true|false)(?![\w.:])/
RELATION: /(<=(?!>)|>=|==(?!>)|=(?!>)|<|>|≤|≥)(_p(?=\s*\())?/
SIGN: "+" | "-"
TIMES: /\*(?!\*)|\//
_POWER: "**"
_ASSIGN: "="
_COMMA: ","
_COLON: ":"
_RANGE: ".."
_LPAR: "("
_RPAR: ")"
LBRACKET: "["
_RBRACKET: "]"
_LBRACE: "{"
_RBRACE: "}"
NAME: /NO_KEYWORD[^\W\d]\w*((\.[^\W\d]\w*)+(:[^\W\d]\w*(\.[^\W\d]\w*)*)?|:[^\W\d]\w*(\.[^\W\d]\w*)*)/
WORD: /NO_KEYWORD[^\W\d]\w*/
QUALIFIED: /:[^\W\d]\w*(\.[^\W\d]\w*)*/
MEMBER: /(?<=\S)#[^\W\d]\w*/
BACKQUOTED: /`[^`\n]+`/
REVISION: /@('([^'\\\n]|\\.)*'|"([^"\\\n]|\\.)*"|BARE_REVISION)/
NUMBER: /([0-9](_?[0-9])*)?\.[0-9](_?[0-9])*([eE][+-]?[0-9]+)?|[0-9](_?[0-9])*([eE][+-]?[0-9]+)?/
UNIT: /%|(UNITS)(?!\w)/
TEXT: /'([^'\\\n]|\\.)*'|"([^"\\\n]|\\.)*"/
%ignore /\s+/
%ignore /(?<!\S)#[^\n]*/
"""

_NO_KEYWORD = rf"(?!({'|'.join(sorted(KEYWORDS))})(?![\w.:]))"

GRAMMAR = _GRAMMAR.replace("UNITS", "|".join(UNITS)).replace("NO_KEYWORD", _NO_KEYWORD)
GRAMMAR = GRAMMAR.replace("BARE_REVISION", REVISION.pattern.replace("/", r"\/"))

CALLED = {
    **dict.fromkeys(("WORD", "NAME", "BACKQUOTED", "QUANTILE"), "a name"),
    "NUMBER": "a number",
    "TEXT": "a text in quotes",
    **dict.fromkeys(("LABEL", "LAMBDA", "PRINTED", "DECLARE", "TRUTH", "SIGN"), ""),
    "QUANTIFIER": "",
    "NOT": "",
    "_LPAR": "'('",
    "_RPAR": "')'",
    "LBRACKET": "'['",
    "_RBRACKET": "']'",
    "_LBRACE": "'{'",
    "_RBRACE": "'}'",
    "_COMMA": "','",
    "_COLON": "':'",
    "_ASSIGN": "'='",
    "_IN": "in",
    "_RANGE": "'..'",
    "RELATION": "a relation",
    "$END": "the end",
    **dict.fromkeys(("TIMES", "_POWER", "MARGIN", "STRICTLY", "_OF", "_STEP", "REVISION", "MEMBER", "UNIT"), ""),
    **dict.fromkeys(("_AND", "_OR", "_IMPLIES"), "a connective"),
}
"""What a terminal is called in messages; ``""`` for those that are not told, lest the message be long."""
