package admin

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// asking is a request of a list by its query.
func asking(query string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/admin/list", nil)
	r.URL.RawQuery = query
	return r
}

// itself is the name of an entry that is a name.
func itself(name string) string { return name }

// numbered are n names, some with what cursors are made of.
func numbered(n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("n %d/ü", i)
	}
	return all
}

// TestCutWalks: page by page, each entry comes once, in order, whatever the size of
// a page; the last page has no cursor.
func TestCutWalks(t *testing.T) {
	for _, size := range []int{0, 1, 2, 3, 49, 50, 51, 200, 401} {
		for _, limit := range []int{1, 2, 50, 199, 200} {
			all, walked := numbered(size), []string(nil)
			for cursor, pages := "", 0; ; pages++ {
				page, next, p := cut(asking("limit="+strconv.Itoa(limit)+"&cursor="+url.QueryEscape(cursor)), all, itself)
				if p != nil || len(page) > limit || pages > size {
					t.Fatalf("%d by %d, page %d: %d entries, %v", size, limit, pages, len(page), p)
				}
				if walked = append(walked, page...); next == "" {
					break
				}
				cursor = next
			}
			if !slices.Equal(walked, all) {
				t.Errorf("%d by %d: walked %q", size, limit, walked)
			}
		}
	}
}

// TestCutOfAChangedList: a cursor goes on behind its entry wherever that is now, and
// at its place where it is gone: nothing that stayed is left out.
func TestCutOfAChangedList(t *testing.T) {
	before := strings.Fields("a b c d e f")
	_, next, _ := cut(asking("limit=3"), before, itself)
	for name, row := range map[string]struct{ now, want string }{
		"the same":           {"a b c d e f", "d e f"},
		"more before":        {"0 a b c d e f", "d e f"},
		"less before":        {"c d e f", "d e f"},
		"it is gone":         {"a b d e f", "d e f"},
		"all after are gone": {"a b c", ""},
		"short and gone":     {"a", ""},
		"empty":              {"", ""},
	} {
		page, more, p := cut(asking("limit=3&cursor="+next), strings.Fields(row.now), itself)
		if p != nil || strings.Join(page, " ") != row.want || more != "" {
			t.Errorf("%s: %q, then %q, %v", name, page, more, p)
		}
	}
}

// TestCutRefuses: a cursor is of one list with its filters, and not made up.
func TestCutRefuses(t *testing.T) {
	all := numbered(5)
	_, own, _ := cut(asking("limit=2&model=m"), all, itself)
	encoded := base64.RawURLEncoding.EncodeToString
	mark := cutMark(asking(""))
	for name, query := range map[string]string{
		"another filter":     "model=n&cursor=" + own,
		"no filter":          "cursor=" + own,
		"not base64":         "cursor=***",
		"padded":             "model=m&cursor=" + own + "%3D",
		"cut short":          "model=m&cursor=" + own[:6],
		"no mark":            "cursor=" + encoded([]byte("1 n 1/ü")),
		"a mark alone":       "cursor=" + encoded([]byte(mark)),
		"no name":            "cursor=" + encoded([]byte(mark+"1")),
		"no place":           "cursor=" + encoded([]byte(mark+" n 1/ü")),
		"a place below":      "cursor=" + encoded([]byte(mark+"-1 n 9/ü")),
		"a place too large":  "cursor=" + encoded([]byte(mark+"99999999999999999999 x")),
		"a place of letters": "cursor=" + encoded([]byte(mark+"one x")),
		"limit 0":            "limit=0",
		"limit 201":          "limit=201",
	} {
		if page, next, p := cut(asking(query), all, itself); p == nil || page != nil || next != "" {
			t.Errorf("%s: %q, %q, %v", name, page, next, p)
		}
	}
	for name, query := range map[string]string{
		"the same":             "model=m&limit=2&cursor=" + own,
		"another size":         "limit=200&model=m&cursor=" + own,
		"as a table":           "model=m&format=csv&cursor=" + own,
		"another order":        "cursor=" + own + "&model=m",
		"a place of no list":   "cursor=" + encoded([]byte(mark+"9999 gone")),
		"an empty cursor":      "cursor=",
		"an empty name's":      "cursor=" + encoded([]byte(mark+"0 ")),
		"a name with a blank ": "cursor=" + encoded([]byte(mark+"0 n 1/ü")),
	} {
		if _, _, p := cut(asking(query), all, itself); p != nil {
			t.Errorf("%s: %v", name, p)
		}
	}
}

// FuzzCut: no cursor leads outside of a list or in a circle.
func FuzzCut(f *testing.F) {
	f.Add("limit=2", 5)
	f.Add("cursor=abc&limit=1", 3)
	f.Add("cursor="+base64.RawURLEncoding.EncodeToString([]byte(cutMark(asking(""))+"7 x")), 2)
	f.Fuzz(func(t *testing.T, query string, size int) {
		all := numbered(max(0, size) % 300)
		r := asking(query)
		page, next, p := cut(r, all, itself)
		if p != nil {
			if page != nil || next != "" {
				t.Fatalf("refused, and %q, %q", page, next)
			}
			return
		}
		if len(page) > maxLimit || next != "" && len(page) == 0 {
			t.Fatalf("%d entries, then %q", len(page), next)
		}
		if next == "" {
			return
		}
		q := r.URL.Query()
		q.Set("cursor", next)
		r.URL.RawQuery = q.Encode()
		after, _, p := cut(r, all, itself)
		if p != nil || len(after) == 0 || after[0] != all[slices.Index(all, page[len(page)-1])+1] {
			t.Fatalf("after %q: %q, %v", page, after, p)
		}
	})
}

// list is a list that the store keeps: its cursors are numbers.
type list struct {
	entries []int
	reads   []int // how much each asked for
	err     error
}

func (l *list) read(cursor string, limit int) ([]int, string, error) {
	l.reads = append(l.reads, limit)
	begin := 0
	if cursor != "" {
		begin, _ = strconv.Atoi(cursor)
	}
	if l.err != nil && len(l.reads) > 1 {
		return nil, "", l.err
	}
	end, next := min(begin+limit, len(l.entries)), ""
	if end < len(l.entries) {
		next = strconv.Itoa(end)
	}
	return l.entries[begin:end], next, nil
}

// TestGather: what is chosen comes once and in order, no page is longer than asked,
// and one that comes short says where it goes on.
func TestGather(t *testing.T) {
	for _, every := range []int{1, 2, 7, 40, 1000} {
		for _, limit := range []int{1, 3, 50} {
			l := &list{}
			for i := range 400 {
				l.entries = append(l.entries, i)
			}
			var got []int
			for cursor, pages := "", 0; ; pages++ {
				l.reads = nil
				page, next, err := gather(cursor, limit, l.read, func(n int) bool { return n%every == 0 })
				if err != nil || len(page) > limit || len(l.reads) > gatherTries || slices.Max(l.reads) > limit || pages > len(l.entries) {
					t.Fatalf("every %d by %d, page %d: %d entries by %v, %v", every, limit, pages, len(page), l.reads, err)
				}
				if got = append(got, page...); next == "" {
					break
				}
				cursor = next
			}
			for i, n := range got {
				if n != i*every {
					t.Fatalf("every %d by %d: %v", every, limit, got)
				}
			}
			if len(got) != (len(l.entries)+every-1)/every {
				t.Errorf("every %d by %d: %d are chosen", every, limit, len(got))
			}
		}
	}
}

// TestGatherFails: what was found before an error is not passed off as a page.
func TestGatherFails(t *testing.T) {
	broken := errors.New("broken")
	l := &list{entries: []int{1, 2, 3, 4}, err: broken}
	page, next, err := gather("", 2, l.read, func(n int) bool { return n != 2 })
	if !errors.Is(err, broken) || page != nil || next != "" || len(l.reads) != 2 {
		t.Errorf("%v, %q, %v after %v", page, next, err, l.reads)
	}
}

// TestGatherNeverTooMuch: a page that is nearly full takes no more than fits, and the
// next one begins with what did not.
func TestGatherNeverTooMuch(t *testing.T) {
	l := &list{entries: []int{0, 1, 2, 3, 4, 5, 6, 7, 8}}
	var pages [][]int
	for cursor := ""; ; {
		page, next, err := gather(cursor, 3, l.read, func(n int) bool { return n%3 != 0 })
		if err != nil {
			t.Fatal(err)
		}
		if pages = append(pages, page); next == "" {
			break
		}
		cursor = next
	}
	if got := fmt.Sprint(pages); got != "[[1 2 4] [5 7 8]]" {
		t.Errorf("the pages are %s", got)
	}
}
