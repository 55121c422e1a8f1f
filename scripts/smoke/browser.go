package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"holdfast/infra/front"
)

// cors: a page's preflight is allowed, and it may read what answers say. Front
// and code both know how to answer; a header that comes twice is refused by
// browsers.
func cors(ctx context.Context, p *probe) (string, error) {
	preflight, err := p.send(ctx, http.MethodOptions, paths()[p.endpoint], nil, map[string]string{
		"Authorization": "", "Origin": p.origin,
		"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type,x-session-id",
	})
	if err != nil {
		return "", err
	}
	preflight.Body.Close()
	if preflight.StatusCode >= 300 {
		return "", fmt.Errorf("the preflight: status %d", preflight.StatusCode)
	}
	if err := allowed(preflight.Header, p.origin); err != nil {
		return "", fmt.Errorf("the preflight: %w", err)
	}
	if !names(preflight.Header, "Access-Control-Allow-Headers", "authorization", "content-type", "x-session-id") ||
		!names(preflight.Header, "Access-Control-Allow-Methods", "POST") {
		return "", fmt.Errorf("the preflight allows %v and %v", preflight.Header["Access-Control-Allow-Methods"], preflight.Header["Access-Control-Allow-Headers"])
	}
	answer, err := p.send(ctx, http.MethodGet, "/v1/models", nil, map[string]string{"Origin": p.origin})
	if err != nil {
		return "", err
	}
	answer.Body.Close()
	if err := allowed(answer.Header, p.origin); err != nil {
		return "", fmt.Errorf("the answer: %w", err)
	}
	if !names(answer.Header, "Access-Control-Expose-Headers", front.ExposedHeaders()...) {
		return "", fmt.Errorf("pages may read %v, want %v", answer.Header["Access-Control-Expose-Headers"], front.ExposedHeaders())
	}
	return fmt.Sprintf("pages may call and read %d headers", len(front.ExposedHeaders())), nil
}

func allowed(h http.Header, origin string) error {
	said := h["Access-Control-Allow-Origin"]
	if len(said) != 1 || said[0] != "*" && said[0] != origin {
		return fmt.Errorf("Access-Control-Allow-Origin is %q, want the origin or * once", said)
	}
	return nil
}

// names reports whether a list header names all of these, or everything.
func names(h http.Header, header string, want ...string) bool {
	said := strings.FieldsFunc(strings.ToLower(strings.Join(h[header], ",")), func(r rune) bool { return r == ',' || r == ' ' })
	if slices.Contains(said, "*") {
		return true
	}
	return !slices.ContainsFunc(want, func(name string) bool { return !slices.Contains(said, strings.ToLower(name)) })
}
