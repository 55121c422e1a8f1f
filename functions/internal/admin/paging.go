package admin

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"holdfast/functions/internal/wire"
)

// gatherTries bounds how often a page asks for more where its filter chooses
// little.
const gatherTries = 16

// gather reads a page of a list that the store keeps, of those entries only that
// are chosen. It may come short and still have a cursor. Read returns so many
// entries at most, from a cursor on.
func gather[T any](cursor string, limit int, read func(cursor string, limit int) ([]T, string, error), chosen func(T) bool) (found []T, next string, err error) {
	next = cursor
	for range gatherTries {
		var all []T
		if all, next, err = read(next, limit-len(found)); err != nil {
			return nil, "", err
		}
		for _, one := range all {
			if chosen(one) {
				found = append(found, one)
			}
		}
		if next == "" || len(found) == limit {
			break
		}
	}
	return found, next, nil
}

// cut is a page of a list that is at hand as a whole. Its cursor tells the last
// entry's name and place: where the entry is gone, the page goes on at its place.
func cut[T any](r *http.Request, all []T, name func(T) string) (page []T, next string, _ *wire.Problem) {
	limit, p := limitOf(r)
	if p != nil {
		return nil, "", p
	}
	begin, mark := 0, cutMark(r)
	if text := r.URL.Query().Get("cursor"); text != "" {
		plain, err := base64.RawURLEncoding.DecodeString(text)
		rest, ours := strings.CutPrefix(string(plain), mark)
		place, last, formed := strings.Cut(rest, " ")
		at, bad := strconv.Atoi(place)
		if err != nil || !ours || !formed || bad != nil || at < 0 {
			return nil, "", badCursor()
		}
		begin = min(at, len(all))
		if i := slices.IndexFunc(all, func(one T) bool { return name(one) == last }); i >= 0 {
			begin = i + 1
		}
	}
	page = all[begin:min(begin+limit, len(all))]
	if end := begin + len(page); end < len(all) && len(page) > 0 {
		next = base64.RawURLEncoding.EncodeToString([]byte(mark + strconv.Itoa(end-1) + " " + name(page[len(page)-1])))
	}
	return page, next, nil
}

// cutMark tells the cursors of a list and its filters from those of others.
func cutMark(r *http.Request) string {
	query := r.URL.Query()
	for _, name := range []string{"limit", "cursor", "format"} {
		query.Del(name)
	}
	sum := sha256.Sum256([]byte(r.URL.Path + "?" + query.Encode()))
	return string(sum[:6])
}
