package accounts

import (
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/localstack/accounts/internal/emit"
	"holdfast/localstack/accounts/internal/prompt"
	"holdfast/localstack/accounts/internal/refusal"
)

// released is when every model came out, in both forms.
const (
	released        = 1767225600
	releasedRFC3339 = "2026-01-01T00:00:00Z"
)

// listed are the models that the account shows.
func (a *Account) listed() []string {
	if len(a.config.Models) > 0 {
		return a.config.Models
	}
	return []string{"demo-chat", "demo-responses", "demo-messages"}
}

// asAnthropic switches to Anthropic's shapes where the client speaks them: both
// providers have this path.
func (x *exchange) asAnthropic() bool {
	if x.r.Header.Get("Anthropic-Version") != "" {
		rt := *x.route
		rt.anthropic = true
		x.route = &rt
	}
	return x.anthropic
}

func (x *exchange) listModels() {
	anthropic := x.asAnthropic()
	if !x.begin("", false) {
		return
	}
	names := x.account.listed()
	b := []byte(`{"data":[`)
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendModel(b, name, anthropic)
	}
	if anthropic {
		b = emit.String(b, `],"has_more":false,"first_id":`, names[0])
		b = append(emit.String(b, `,"last_id":`, names[len(names)-1]), '}')
	} else {
		b = append(b, `],"object":"list"}`...)
	}
	x.send(b)
}

func (x *exchange) retrieveModel() {
	anthropic := x.asAnthropic()
	if !x.begin(x.r.PathValue("id"), false) {
		return
	}
	if !x.account.serves(x.model) {
		x.refuse(x.unknownModel())
		return
	}
	x.send(appendModel(nil, x.model, anthropic))
}

func appendModel(b []byte, name string, anthropic bool) []byte {
	b = emit.String(b, `{"id":`, name)
	if anthropic {
		b = emit.String(b, `,"type":"model","display_name":`, name)
		return append(b, `,"created_at":"`+releasedRFC3339+`"}`...)
	}
	return append(emit.Int(b, `,"object":"model","created":`, released), `,"owned_by":"simulation"}`...)
}

// Bounds of embeddings.
const (
	defaultDimensions = 256
	maxDimensions     = 3072
	maxInputs         = 2048
)

type embeddingRequest struct {
	Model      string         `json:"model"`
	Input      jsontext.Value `json:"input"`
	Dimensions int            `json:"dimensions"`
	Encoding   string         `json:"encoding_format"`
}

func (x *exchange) embeddings() {
	q := embeddingRequest{}
	err := json.Unmarshal(x.body, &q)
	if !x.begin(q.Model, false) {
		return
	}
	if err != nil {
		x.refuse(refusal.Body(err))
		return
	}
	inputs, r := q.inputs()
	if r == nil && !x.account.serves(q.Model) {
		r = x.unknownModel()
	}
	if r != nil {
		x.refuse(r)
		return
	}
	if q.Dimensions == 0 {
		q.Dimensions = defaultDimensions
	}
	tokens := 0
	b := []byte(`{"object":"list","data":[`)
	for i, input := range inputs {
		if i > 0 {
			b = append(b, ',')
		}
		tokens += prompt.Tokens(len(input))
		b = append(emit.Int(b, `{"object":"embedding","index":`, i), `,"embedding":`...)
		b = append(appendVector(b, vector(input, q.Dimensions), q.Encoding == "base64"), '}')
	}
	b = emit.String(b, `],"model":`, q.Model)
	b = emit.Int(b, `,"usage":{"prompt_tokens":`, tokens)
	b = append(emit.Int(b, `,"total_tokens":`, tokens), "}}"...)
	x.note(func(c *Call) { c.Usage.Input = tokens })
	x.send(b)
}

// inputs are the texts to embed; a list of token numbers is a text of its own.
func (q *embeddingRequest) inputs() ([]string, *refusal.Refusal) {
	if q.Model == "" {
		return nil, refusal.Invalid("model", "missing_required_parameter", "you must provide a model parameter")
	}
	if q.Dimensions < 0 || q.Dimensions > maxDimensions {
		return nil, refusal.Invalid("dimensions", "invalid_value", "Invalid value for 'dimensions': must be between 1 and %d.", maxDimensions)
	}
	var list []jsontext.Value
	switch {
	case q.Input.Kind() == '"':
		list = []jsontext.Value{q.Input}
	case json.Unmarshal(q.Input, &list) == nil && len(list) > 0 && list[0].Kind() == '0':
		list = []jsontext.Value{q.Input}
	}
	if len(list) == 0 || len(list) > maxInputs {
		return nil, refusal.Invalid("input", "invalid_value", "Invalid value for 'input': expected a string or an array of 1 to %d of them.", maxInputs)
	}
	inputs := make([]string, len(list))
	for i, v := range list {
		if json.Unmarshal(v, &inputs[i]) != nil {
			inputs[i] = string(v)
		}
	}
	return inputs, nil
}

// vector is a unit vector that follows from the text.
func vector(text string, dimensions int) []float32 {
	h := fnv.New64a()
	h.Write([]byte(text))
	seed, square := h.Sum64(), 0.0
	values := make([]float64, dimensions)
	for i := range values {
		seed = seed*6364136223846793005 + 1442695040888963407
		values[i] = float64(int32(seed>>32)) / math.MaxInt32
		square += values[i] * values[i]
	}
	out := make([]float32, dimensions)
	for i, v := range values {
		out[i] = float32(v / math.Sqrt(square))
	}
	return out
}

func appendVector(b []byte, v []float32, packed bool) []byte {
	if packed {
		raw := make([]byte, 0, 4*len(v))
		for _, f := range v {
			raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
		}
		return emit.Quote(b, base64.StdEncoding.EncodeToString(raw))
	}
	b = append(b, '[')
	for i, f := range v {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendFloat(b, float64(f), 'g', -1, 32)
	}
	return append(b, ']')
}
