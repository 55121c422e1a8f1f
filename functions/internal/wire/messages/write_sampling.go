package messages

import "strings"

// sampling writes how the answer is drawn, as far as the model lets itself be
// told.
func (w *writer) sampling() {
	temperature, topP, topK := w.d.Temperature, w.d.TopP, w.d.TopK
	if !w.native {
		thinking := w.adapt || w.budget > 0
		if temperature != nil && *temperature > 1 {
			one := 1.0
			w.drop("temperature", "temperature", "temperature")
			temperature = &one
		}
		if temperature != nil && (w.version >= unsampled || thinking && *temperature != 1) {
			w.drop("temperature", "temperature", "temperature")
			temperature = nil
		}
		if topP != nil && (w.version >= unsampled || thinking && *topP < 0.95 || temperature != nil && w.version > 0) {
			w.drop("top_p", "top_p", "top_p")
			topP = nil
		}
		if topK != nil && (w.version >= unsampled || thinking) {
			w.drop("top_k", "top_k", "top_k")
			topK = nil
		}
	}
	if temperature != nil {
		w.Name("temperature").Float(*temperature)
	}
	if topP != nil {
		w.Name("top_p").Float(*topP)
	}
	if topK != nil {
		w.Name("top_k").Int(*topK)
	}
	w.stops()
}

// stops writes the stop sequences; a blank one would be refused.
func (w *writer) stops() {
	var stops []string
	for _, stop := range w.d.Stop {
		if strings.TrimSpace(stop) == "" {
			w.drop("stop", "stop", "stop_sequences")
			continue
		}
		stops = append(stops, stop)
	}
	if len(stops) == 0 {
		return
	}
	w.Name("stop_sequences").Array()
	for _, stop := range stops {
		w.Text(stop)
	}
	w.Close()
}

// thinking writes how much is to be thought, and the form of the answer's text,
// which stands beside the effort.
func (w *writer) thinking() {
	kind := ""
	switch {
	case w.adapt:
		kind = "adaptive"
	case w.budget > 0:
		kind = "enabled"
	case w.d.ThinkingOff || w.d.Effort == "none":
		kind = "disabled"
	}
	if kind != "" {
		w.Name("thinking").Object().Name("type").Text(kind)
		if kind == "enabled" {
			w.Name("budget_tokens").Int(w.budget)
		}
		if w.d.Summary != "" && kind != "disabled" {
			w.Name("display").Text("summarized")
		}
		w.End()
	}
	schema := []byte(nil)
	if w.d.Format != nil {
		if schema = w.d.Format.Schema; schema == nil {
			w.drop("response_format", "text.format", "output_config.format")
		}
	}
	if w.effort == "" && schema == nil {
		return
	}
	w.Name("output_config").Object()
	if w.effort != "" {
		w.Name("effort").Text(w.effort)
	}
	if schema != nil {
		w.Name("format").Object().Name("type").Text("json_schema").Name("schema").Raw(schema).End()
	}
	w.End()
}
