package guard

import (
	"unicode/utf8"

	"holdfast/routing/catalog"
)

// part is one text that comes in pieces. Each rule has its own window; what one
// lets go is what the next one sees.
type part struct {
	stages []stage
}

// stage is a rule with what it holds back.
type stage struct {
	rule *rule
	held []byte
	last []byte // the character before held, where the rule asks for it
}

func newPart(rules []rule) *part {
	p := new(part)
	for i := range rules {
		if rules[i].match != nil {
			p.stages = append(p.stages, stage{rule: &rules[i]})
		}
	}
	return p
}

// push takes the next piece and returns what may be shown. With final nothing is
// held any more.
func (p *part) push(piece []byte, final bool, found *Found) []byte {
	for i := range p.stages {
		piece = p.stages[i].push(piece, final, found)
		if found.Blocked != "" {
			return nil
		}
	}
	return piece
}

// push is one rule's share. A match counts once it begins before what may still
// become another one by the text that follows. A rule that only takes notes holds
// nothing back.
func (s *stage) push(piece []byte, final bool, found *Found) []byte {
	text := append(append([]byte(nil), s.last...), append(s.held, piece...)...)
	before := len(s.last)
	limit := len(text) - s.rule.hold
	if final {
		limit = len(text) + 1
	}
	out, at := []byte(nil), before
	for _, m := range s.rule.match.FindAllIndex(text, -1) {
		if m[0] >= limit {
			break
		}
		if m[0] < before {
			continue // was shown already
		}
		found.note(s.rule)
		out = append(out, text[at:m[0]]...)
		if s.rule.action == catalog.Redact {
			out = append(out, redacted...)
		} else {
			out = append(out, text[m[0]:m[1]]...)
		}
		at = m[1]
	}
	cut := max(at, whole(text, min(limit, len(text))))
	out = append(out, text[at:cut]...)
	s.held = append(s.held[:0:0], text[cut:]...)
	if s.rule.context && cut > 0 {
		s.last = append(s.last[:0:0], lastRune(text[:cut])...)
	}
	if s.rule.action == catalog.LogMatch {
		return piece
	}
	return out
}

// whole moves a cut back to where a character begins.
func whole(text []byte, cut int) int {
	for cut > 0 && cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return max(cut, 0)
}
