package telemetry

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Tracer sends one span an exchange to an OpenTelemetry collector, with an event
// for each attempt, by OTLP over HTTP in its JSON form. Attributes have the names
// of the gen_ai conventions where there are any; a session appears as its hash.
//
// A span is sent by whoever calls Send, after the answer: nothing waits in the
// background, so nothing is lost where a process is frozen. A collector that does
// not answer costs its span and a warning a minute, never an answer.
type Tracer struct {
	url     string
	headers map[string]string
	client  *http.Client
	log     *slog.Logger
	room    chan struct{} // spans under way
	warned  chan time.Time
}

// Bounds of what a collector may cost.
const (
	sendTime  = 2 * time.Second
	maxAtOnce = 32 // spans under way; those beyond are dropped
	warnEvery = time.Minute
)

// NewTracer returns a Tracer for a collector's address, as
// OTEL_EXPORTER_OTLP_ENDPOINT has it, with headers as OTEL_EXPORTER_OTLP_HEADERS
// has them: NAME=VALUE, with commas between.
func NewTracer(endpoint, headers string, log *slog.Logger) *Tracer {
	t := &Tracer{
		url: strings.TrimSuffix(endpoint, "/") + "/v1/traces", headers: map[string]string{}, log: log,
		client: &http.Client{Timeout: sendTime, Transport: &http.Transport{MaxIdleConnsPerHost: maxAtOnce, Proxy: http.ProxyFromEnvironment}},
		room:   make(chan struct{}, maxAtOnce), warned: make(chan time.Time, 1),
	}
	t.warned <- time.Time{}
	for pair := range strings.SplitSeq(headers, ",") {
		name, value, ok := strings.Cut(pair, "=")
		if plain, err := url.PathUnescape(strings.TrimSpace(value)); ok && err == nil {
			t.headers[strings.TrimSpace(name)] = plain
		}
	}
	return t
}

// Send sends an exchange's span. Its error was logged.
func (t *Tracer) Send(ctx context.Context, e *Exchange) {
	select {
	case t.room <- struct{}{}:
		defer func() { <-t.room }()
	default:
		t.warn(ctx, fmt.Errorf("more than %d spans are under way", maxAtOnce))
		return
	}
	if err := t.post(ctx, e); err != nil {
		t.warn(ctx, err)
	}
}

func (t *Tracer) post(ctx context.Context, e *Exchange) error {
	body, err := json.Marshal(export(e))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	for name, value := range t.headers {
		request.Header.Set(name, value)
	}
	response, err := t.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10))
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("the collector answered %d", response.StatusCode)
	}
	return nil
}

// warn logs a failure, at most once a minute.
func (t *Tracer) warn(ctx context.Context, err error) {
	last := <-t.warned
	if now := time.Now(); now.Sub(last) > warnEvery {
		t.log.WarnContext(ctx, "a trace was not exported", "error", err)
		last = now
	}
	t.warned <- last
}

// The JSON form of OTLP, as far as it is used.
type (
	otlpRequest struct {
		ResourceSpans []otlpResource `json:"resourceSpans"`
	}
	otlpResource struct {
		Resource   otlpAttributes `json:"resource"`
		ScopeSpans []otlpScope    `json:"scopeSpans"`
	}
	otlpAttributes struct {
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpScope struct {
		Scope struct {
			Name string `json:"name"`
		} `json:"scope"`
		Spans []otlpSpan `json:"spans"`
	}
	otlpSpan struct {
		TraceID    string          `json:"traceId"`
		SpanID     string          `json:"spanId"`
		Parent     string          `json:"parentSpanId,omitempty"`
		Name       string          `json:"name"`
		Kind       int             `json:"kind"`
		Start      string          `json:"startTimeUnixNano"`
		End        string          `json:"endTimeUnixNano"`
		Attributes []otlpAttribute `json:"attributes"`
		Events     []otlpEvent     `json:"events,omitempty"`
		Status     struct {
			Code int `json:"code,omitempty"`
		} `json:"status"`
	}
	otlpEvent struct {
		Time       string          `json:"timeUnixNano"`
		Name       string          `json:"name"`
		Attributes []otlpAttribute `json:"attributes"`
	}
	otlpAttribute struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

// clientSpan and failedStatus are numbers of the protocol.
const (
	clientSpan   = 3
	failedStatus = 2
)

func nano(at time.Time) string { return strconv.FormatInt(at.UnixNano(), 10) }

func said(key, value string) otlpAttribute {
	return otlpAttribute{key, map[string]any{"stringValue": value}}
}

func counted(key string, n int64) otlpAttribute {
	return otlpAttribute{key, map[string]any{"intValue": strconv.FormatInt(n, 10)}}
}

// export is an exchange as a collector takes it.
func export(e *Exchange) otlpRequest {
	span := otlpSpan{
		Name: strings.TrimSpace(operation(e.Endpoint) + " " + e.Model), Kind: clientSpan, Start: nano(e.Start), End: nano(e.End),
		Attributes: attributes(e),
	}
	var id [24]byte
	_, _ = rand.Read(id[:]) // never fails
	span.TraceID, span.SpanID = hex.EncodeToString(id[:16]), hex.EncodeToString(id[16:])
	if trace, parent, ok := traceOf(e.TraceParent); ok {
		span.TraceID, span.Parent = trace, parent
	}
	if e.Status >= 400 || e.ErrorCode != "" {
		span.Status.Code = failedStatus
	}
	for _, a := range e.Attempts {
		event := otlpEvent{Time: nano(e.End), Name: "attempt", Attributes: []otlpAttribute{
			said("holdfast.deployment", a.Deployment), said("holdfast.outcome", a.Outcome), counted("holdfast.duration_ms", a.Millis)}}
		if a.Status != 0 {
			event.Attributes = append(event.Attributes, counted("http.response.status_code", int64(a.Status)))
		}
		span.Events = append(span.Events, event)
	}
	scope := otlpScope{Spans: []otlpSpan{span}}
	scope.Scope.Name = "holdfast"
	return otlpRequest{[]otlpResource{{
		Resource: otlpAttributes{[]otlpAttribute{said("service.name", "holdfast")}}, ScopeSpans: []otlpScope{scope},
	}}}
}

// traceOf reads a traceparent header: 00-TRACE-SPAN-FLAGS in lowercase hex, neither
// id all zero. A later version may have more at its end.
func traceOf(header string) (trace, span string, ok bool) {
	parts := strings.Split(header, "-")
	if len(header) > 256 || len(parts) < 4 || len(parts[0]) != 2 || parts[0] == "ff" || parts[0] == "00" && len(parts) != 4 || len(parts[1]) != 32 || len(parts[2]) != 16 || len(parts[3]) != 2 {
		return "", "", false
	}
	for _, part := range parts[:4] {
		if strings.Trim(part, "0123456789abcdef") != "" {
			return "", "", false
		}
	}
	return parts[1], parts[2], strings.Trim(parts[1], "0") != "" && strings.Trim(parts[2], "0") != ""
}

// operation is the conventions' name for what an endpoint does.
func operation(endpoint string) string {
	switch endpoint {
	case "embeddings":
		return "embeddings"
	case "chat", "responses", "messages":
		return "chat"
	}
	return endpoint
}

// attributes of a span. What is empty is left out.
func attributes(e *Exchange) []otlpAttribute {
	var all []otlpAttribute
	for _, pair := range [...][2]string{
		{"gen_ai.operation.name", operation(e.Endpoint)}, {"gen_ai.provider.name", e.Provider}, {"gen_ai.request.model", e.Model},
		{"gen_ai.response.model", e.UpstreamModel}, {"gen_ai.conversation.id", e.Session}, {"error.type", e.ErrorCode},
		{"holdfast.request_id", e.RequestID}, {"holdfast.endpoint", e.Endpoint}, {"holdfast.affinity", e.Affinity},
		{"holdfast.deployment", e.Deployment}, {"holdfast.session_source", e.SessionSource}, {"holdfast.template", e.Template},
	} {
		if pair[1] != "" {
			all = append(all, said(pair[0], pair[1]))
		}
	}
	all = append(all, counted("http.response.status_code", int64(e.Status)), counted("holdfast.attempts", int64(len(e.Attempts))))
	if e.FirstByte > 0 {
		all = append(all, otlpAttribute{"gen_ai.server.time_to_first_token", map[string]any{"doubleValue": e.FirstByte.Seconds()}})
	}
	if u := e.Usage; u != nil {
		all = append(all, counted("gen_ai.usage.input_tokens", u.Input+u.CacheRead+u.CacheWrite5m+u.CacheWrite1h),
			counted("gen_ai.usage.output_tokens", u.Output), counted("gen_ai.usage.cache_read.input_tokens", u.CacheRead),
			counted("gen_ai.usage.cache_creation.input_tokens", u.CacheWrite5m+u.CacheWrite1h))
	}
	return all
}
