package exchange

import (
	"holdfast/functions/internal/wire"
	"holdfast/routing"
)

// withheldFor makes a refusal say what no deployment of the model can do; "" leaves
// it as it is. Of a prompt that is too long it speaks as providers do: clients
// shorten a conversation on their own where they read that.
func withheldFor(p *wire.Problem, lacks routing.Lack) *wire.Problem {
	const end = " Leave that out or use another model."
	switch lacks {
	case routing.Streams:
		return p.About("stream").Saying("The deployments of this model do not stream." + end)
	case routing.Tools:
		return p.About("tools").Saying("The deployments of this model take no tools." + end)
	case routing.Images:
		return p.Saying("The deployments of this model take no images." + end)
	case routing.Documents:
		return p.Saying("The deployments of this model take no documents." + end)
	case routing.JSONSchema:
		return p.Saying("The deployments of this model cannot keep to a JSON schema." + end)
	case routing.Context:
		return p.Saying("The prompt is too long: the input exceeds the context window of this model. Shorten the conversation or use a model with a larger one.")
	}
	return p
}
