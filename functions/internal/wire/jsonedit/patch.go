package jsonedit

import (
	"cmp"
	"slices"
)

// Patch gathers edits of one document and writes them out together, into one
// new buffer. Edits are by the document's own offsets, so their order does not
// matter, except that the last Set or Delete of one name counts.
type Patch struct {
	doc  *Document
	tops []top
	cuts []cut
}

// top is an edit of a top-level member: a nil value deletes it.
type top struct {
	name  string
	value []byte
}

// cut replaces the bytes [start, end) by with.
type cut struct {
	start, end int
	with       []byte
}

// Edit begins a patch without any edits.
func (d *Document) Edit() *Patch { return &Patch{doc: d} }

// Amend begins a patch of what a provider sent, unchecked. Its edits are of
// Values that Read found in raw, not of top-level members.
func Amend(raw []byte) *Patch { return &Patch{doc: &Document{raw: raw}} }

// Set gives a top-level member a value, which must be valid JSON: in its place
// where it is there, else after the last one.
func (p *Patch) Set(name string, value []byte) { p.put(top{name, value}) }

// SetText is Set with a string.
func (p *Patch) SetText(name, text string) { p.put(top{name, Quote(text)}) }

// Delete takes a top-level member out; one that is not there is no edit.
func (p *Patch) Delete(name string) { p.put(top{name: name}) }

func (p *Patch) put(t top) {
	at := slices.IndexFunc(p.tops, func(o top) bool { return o.name == t.name })
	if at >= 0 {
		p.tops[at] = t
		return
	}
	p.tops = append(p.tops, t)
}

// Replace puts valid JSON in the place of a value of this document; one that
// does not exist is no edit.
func (p *Patch) Replace(v Value, with []byte) {
	if v.Exists() {
		p.cuts = append(p.cuts, cut{v.start, v.end, with})
	}
}

// SetIn gives a member of a nested object of this document a value: in its
// place where it is there, else after the last one. It does not go together with
// Prune on the same object. What is no object is left alone.
func (p *Patch) SetIn(object Value, name string, value []byte) {
	if object.Kind() != '{' {
		return
	}
	at, comma := object.start+1, false
	for each := object.Each(); each.Next(); {
		if each.Is(name) {
			p.Replace(each.Value(), value)
			return
		}
		at, comma = each.stop(), true
	}
	p.cuts = append(p.cuts, cut{at, at, appendMember(nil, comma, name, value)})
}

// Prune takes out the members or elements of a container of this document for
// which drop says so, with their commas, and returns how many stay. Edits inside
// of what is taken out are lost.
func (p *Patch) Prune(container Value, drop func(c *Cursor) bool) (kept int) {
	run := pruning{first: -1}
	for each := container.Each(); each.Next(); {
		p.cuts = run.next(p.cuts, each.start, each.stop(), drop(&each))
	}
	p.cuts = run.close(p.cuts)
	return run.kept
}

// Changed reports whether there is anything to write out.
func (p *Patch) Changed() bool { return len(p.tops)+len(p.cuts) > 0 }

// Bytes writes the edited document out. Without edits it is the document's own
// bytes, not to be changed.
func (p *Patch) Bytes() []byte {
	cuts := p.resolve()
	if len(cuts) == 0 {
		return p.doc.raw
	}
	slices.SortStableFunc(cuts, func(a, b cut) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(b.end, a.end)) })
	size := len(p.doc.raw)
	for _, c := range cuts {
		size += len(c.with)
	}
	out, from := make([]byte, 0, size), 0
	for _, c := range cuts {
		if c.start < from {
			continue // inside of an earlier cut
		}
		out = append(append(out, p.doc.raw[from:c.start]...), c.with...)
		from = c.end
	}
	return append(out, p.doc.raw[from:]...)
}

// resolve turns the edits of top-level members into cuts beside the others.
func (p *Patch) resolve() []cut {
	cuts := slices.Clone(p.cuts)
	run, set := pruning{first: -1}, make([]bool, len(p.tops))
	for _, m := range p.doc.members {
		at := slices.IndexFunc(p.tops, func(t top) bool { return t.name == string(m.name) })
		drop := at >= 0 && p.tops[at].value == nil
		if at >= 0 && !drop {
			set[at] = true
			cuts = append(cuts, cut{m.value, m.end, p.tops[at].value})
		}
		cuts = run.next(cuts, m.start, m.end, drop)
	}
	cuts = run.close(cuts)
	return p.insert(cuts, set, run.kept > 0)
}

// insert adds the members that were set and are not there yet.
func (p *Patch) insert(cuts []cut, set []bool, comma bool) []cut {
	at := p.doc.open + 1
	if n := len(p.doc.members); n > 0 {
		at = p.doc.members[n-1].end
	}
	var added []byte
	for i, t := range p.tops {
		if set[i] || t.value == nil {
			continue
		}
		added, comma = appendMember(added, comma, t.name, t.value), true
	}
	if added == nil {
		return cuts
	}
	return append(cuts, cut{at, at, added})
}

func appendMember(dst []byte, comma bool, name string, value []byte) []byte {
	if comma {
		dst = append(dst, ',')
	}
	dst = append(append(dst, Quote(name)...), ':')
	return append(dst, value...)
}

// pruning makes the cuts of one container: a leading run of dropped items goes
// with the comma after it, any other dropped item with the comma before it.
type pruning struct {
	kept    int
	first   int // start of the container's first item; -1 before there is one
	last    int // end of the item before
	pending bool
}

func (r *pruning) next(cuts []cut, start, end int, drop bool) []cut {
	if r.first < 0 {
		r.first = start
	}
	switch {
	case drop && r.kept == 0:
		r.pending = true
	case drop:
		cuts = append(cuts, cut{start: r.last, end: end})
	case r.pending:
		cuts = append(cuts, cut{start: r.first, end: start})
		r.pending = false
	}
	if !drop {
		r.kept++
	}
	r.last = end
	return cuts
}

func (r *pruning) close(cuts []cut) []cut {
	if r.pending {
		cuts = append(cuts, cut{start: r.first, end: r.last})
	}
	return cuts
}
