package guard

import (
	"regexp"
	"regexp/syntax"
	"unicode/utf8"
)

// window is how many bytes at the end of a text may still become part of a match
// when more text follows, and whether the expression asks what stands before or
// after a match.
func window(match *regexp.Regexp) (hold int, context bool) {
	tree, err := syntax.Parse(match.String(), syntax.Perl)
	if err != nil {
		return Window, true
	}
	longest, context := length(tree)
	hold = max(min(longest, Window)-1, 0)
	if context {
		hold += utf8.UTFMax
	}
	return hold, context
}

// length is the longest text that an expression matches, in bytes, Window+1 for
// whatever is longer, and whether it asks for what stands around it.
func length(e *syntax.Regexp) (longest int, context bool) {
	switch e.Op {
	case syntax.OpLiteral:
		for _, r := range e.Rune {
			if e.Flags&syntax.FoldCase != 0 {
				longest += utf8.UTFMax
				continue
			}
			longest += utf8.RuneLen(r)
		}
		return min(longest, Window+1), false
	case syntax.OpCharClass, syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return widest(e), false
	case syntax.OpBeginLine, syntax.OpEndLine, syntax.OpBeginText, syntax.OpEndText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return 0, true
	}
	for _, sub := range e.Sub {
		n, around := length(sub)
		context = context || around
		if e.Op == syntax.OpAlternate {
			longest = max(longest, n)
		} else {
			longest += n
		}
	}
	switch {
	case e.Op == syntax.OpStar, e.Op == syntax.OpPlus, e.Op == syntax.OpRepeat && e.Max < 0:
		longest = Window + 1
	case e.Op == syntax.OpRepeat:
		longest *= e.Max
	}
	return min(longest, Window+1), context
}

// widest is the bytes of the longest character of a class.
func widest(e *syntax.Regexp) int {
	if e.Op != syntax.OpCharClass || len(e.Rune) == 0 {
		return utf8.UTFMax
	}
	if n := utf8.RuneLen(e.Rune[len(e.Rune)-1]); n > 0 {
		return n
	}
	return utf8.UTFMax
}
