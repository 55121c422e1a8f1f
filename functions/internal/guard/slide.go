package guard

import (
	"unicode/utf8"

	"holdfast/routing/catalog"
)

// part is one text that comes in pieces. Each rule has its own window; what one
// lets go is what the next one sees.
type part struct {
	stages []stage
	goesOn bool // in other parts of its message
}

// stage is a rule with what it holds back.
type stage struct {
	rule *rule
	held []byte
	last []byte // the character before held, where the rule asks for it

	before tail // what the message's parts before this one have ended with; until it is known that nothing lies over the border
	shown  tail // what they and this one end with so far
}

// newPart opens a part. One of a message that goes on stands behind what others of
// it have ended with: by stage, nil for none.
func newPart(rules []rule, goesOn bool, before []tail) *part {
	p := &part{goesOn: goesOn}
	for i := range rules {
		if rules[i].match == nil {
			continue
		}
		s := stage{rule: &rules[i]}
		if n := len(p.stages); n < len(before) {
			s.before, s.shown = before[n], before[n]
		}
		p.stages = append(p.stages, s)
	}
	return p
}

// tails is what the message ends with so far, by stage.
func (p *part) tails() []tail {
	all := make([]tail, len(p.stages))
	for i := range p.stages {
		all[i] = p.stages[i].shown
	}
	return all
}

// push takes the next piece and returns what may be shown. With final nothing is
// held any more.
func (p *part) push(piece []byte, final bool, found *Found) []byte {
	for i := range p.stages {
		s := &p.stages[i]
		piece = s.push(piece, final, found)
		if found.Blocked != "" {
			return nil
		}
		if p.goesOn {
			s.shown = s.shown.with(piece, s.rule.hold)
		}
	}
	return piece
}

// push is one rule's share: what it lets go or, where it only takes notes, the
// piece as it came.
func (s *stage) push(piece []byte, final bool, found *Found) []byte {
	text, over := piece, []byte(nil)
	if len(s.before.text) > 0 {
		s.held = append(s.held, piece...)
		if text = nil; len(s.held) > s.rule.hold || final {
			over, text = s.border(s.held, found)
			s.held, s.before = nil, tail{}
		}
	}
	if text != nil || final {
		over = append(over, s.slide(text, final, found)...)
	}
	if s.rule.action == catalog.LogMatch {
		return piece
	}
	return over
}

// border looks for what begins in the parts before and ends in this one. It
// returns what stands in the place of that, and the text after it.
func (s *stage) border(text []byte, found *Found) (over, rest []byte) {
	joined := append(append([]byte(nil), s.before.text...), text...)
	border := len(s.before.text)
	for _, m := range s.rule.match.FindAllIndex(joined, -1) {
		if m[0] >= border || m[1] <= border || m[0] == 0 && s.before.cut {
			continue
		}
		if found.note(s.rule); s.rule.action == catalog.Redact {
			return []byte(redacted), joined[m[1]:]
		}
	}
	return nil, text
}

// tail is the end of what was shown of a message.
type tail struct {
	text []byte
	cut  bool // more stood before it
}

// with returns the tail after more text: as much as a match may begin in, and a
// character before it.
func (t tail) with(more []byte, hold int) tail {
	if hold == 0 || len(more) == 0 {
		return t
	}
	text := append(append([]byte(nil), t.text...), more...)
	if first := whole(text, len(text)-hold-utf8.UTFMax); first > 0 {
		return tail{text[first:], true}
	}
	return tail{text, t.cut}
}

// slide moves the window on. A match counts once it begins before what may still
// become another one by the text that follows. A rule that only takes notes holds
// nothing back.
func (s *stage) slide(piece []byte, final bool, found *Found) []byte {
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
	return out
}

// whole moves a cut back to where a character begins.
func whole(text []byte, cut int) int {
	for cut > 0 && cut < len(text) && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return max(cut, 0)
}
