package wire

import (
	"slices"

	"holdfast/functions/internal/wire/jsonedit"
)

// Common adds to a patch the edits that every protocol has: the upstream's
// model, the gateway's own members taken out, the hint of the session's
// identity where the client gave none.
func (e Edits) Common(f *Facts, p *jsonedit.Patch) {
	if e.Model != "" && e.Model != f.Model {
		p.SetText("model", e.Model)
	}
	for _, name := range [...]string{"session_id", "litellm_session_id", "disable_fallbacks"} {
		if f.Value(name).Exists() && !slices.Contains(e.Keep, name) {
			p.Delete(name)
		}
	}
	if e.HintField != "" && !f.Value(e.HintField).Given() {
		p.SetText(e.HintField, e.HintValue)
	}
}
