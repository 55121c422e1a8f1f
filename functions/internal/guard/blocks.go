package guard

import (
	"holdfast/functions/internal/wire/jsonedit"
	"holdfast/routing/catalog"
)

// blocks are the texts of one message that stand side by side in an array.
type blocks struct{ all []block }

// block is one of them, as the rules have left it so far.
type block struct {
	value   jsonedit.Value
	text    []byte
	changed bool
}

func (b *blocks) add(v jsonedit.Value, text []byte, changed bool) {
	b.all = append(b.all, block{v, text, changed})
}

// join applies the rules to what blocks make together, as far as that lies over a
// border, and edits those that have changed.
func (w *walk) join(b *blocks) {
	for i := range w.rules {
		if r := &w.rules[i]; r.match != nil && len(b.all) > 1 && w.found.Blocked == "" {
			b.apply(r, &w.found)
		}
	}
	for _, one := range b.all {
		if one.changed {
			w.edit.Replace(one.value, jsonedit.Quote(string(one.text)))
		}
	}
}

// apply applies one rule.
func (b *blocks) apply(r *rule, found *Found) {
	var joined []byte
	borders := make([]int, len(b.all)) // where each block ends
	for i, one := range b.all {
		joined = append(joined, one.text...)
		borders[i] = len(joined)
	}
	var over [][]int
	at := 0
	for _, m := range r.match.FindAllIndex(joined, -1) {
		for borders[at] <= m[0] && at < len(borders)-1 {
			at++
		}
		if m[1] > borders[at] {
			over = append(over, m)
		}
	}
	if len(over) == 0 {
		return
	}
	if found.note(r); r.action == catalog.Redact {
		b.redact(over, borders)
	}
}

// redact takes matches out of all blocks that they lie in, and marks the place in
// the first.
func (b *blocks) redact(over [][]int, borders []int) {
	begin := 0
	for i := range b.all {
		one, end := &b.all[i], borders[i]
		var left []byte
		at := begin
		for _, m := range over {
			from, to := max(m[0], begin), min(m[1], end)
			if from >= to {
				continue
			}
			left = append(left, one.text[at-begin:from-begin]...)
			if m[0] >= begin {
				left = append(left, redacted...)
			}
			at, one.changed = to, true
		}
		if at > begin {
			one.text = append(left, one.text[at-begin:]...)
		}
		begin = end
	}
}
