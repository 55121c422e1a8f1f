package wire

import "testing"

// TestStatusOutranksNames: what a 4xx is called does not make it a failure of
// the server, and a refused credential stays one.
func TestStatusOutranksNames(t *testing.T) {
	rows := []struct {
		status int
		name   string
		want   Class
	}{
		{400, "api_error", ClassOther}, {400, "server_error", ClassOther}, {422, "overloaded_error", ClassOther},
		{401, "server_error", ClassCredential}, {401, "rate_limit_error", ClassCredential}, {403, "api_error", ClassCredential},
		{404, "server_error", ClassModelUnknown}, {429, "server_error", ClassServer}, {500, "api_error", ClassServer},
		{400, "ThrottlingException", ClassRateLimited}, {0, "overloaded_error", ClassOverloaded}, {408, "timeout_error", ClassTimeout},
		{401, "insufficient_quota", ClassExhausted},
	}
	for _, row := range rows {
		for _, e := range []UpstreamError{{Status: row.status, Type: row.name}, {Status: row.status, Code: row.name}} {
			if got := e.Class(); got != row.want {
				t.Errorf("%d %s: %v, want %v", row.status, row.name, got, row.want)
			}
		}
	}
}

// TestNamesModel: only an error that says so is about a model.
func TestNamesModel(t *testing.T) {
	for _, row := range []struct {
		e    UpstreamError
		want bool
	}{
		{UpstreamError{Status: 404, Type: "invalid_request_error", Code: "unknown_url", Message: "Invalid URL (POST /v1/x)"}, false},
		{UpstreamError{Status: 404}, false},
		{UpstreamError{Status: 404, Code: "model_not_found"}, true},
		{UpstreamError{Status: 404, Code: "DeploymentNotFound"}, true},
		{UpstreamError{Status: 404, Message: "The model `m` does not exist"}, true},
		{UpstreamError{Status: 404, Type: "not_found_error", Message: "model: claude-x"}, true},
		{UpstreamError{Status: 404, Type: "not_found_error", Message: "Not found"}, false},
		{UpstreamError{Status: 429}, false},
	} {
		if got := row.e.NamesModel(); got != row.want {
			t.Errorf("%+v: %v", row.e, got)
		}
	}
}
