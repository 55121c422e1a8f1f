package catalog

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// Duration is a time.Duration written as "90s" or "1h"; 0 may be a bare number.
// It is never negative in a valid document.
type Duration time.Duration

// String is one number with one unit, and parses back: whole hours as 1h or
// 720h, from ten minutes on whole minutes, then seconds as in 90s; 0 is "0".
func (d Duration) String() string {
	value := time.Duration(d)
	switch {
	case value == 0:
		return "0"
	case value%time.Hour == 0:
		return strconv.FormatInt(int64(value/time.Hour), 10) + "h"
	case value%time.Minute == 0 && value >= 10*time.Minute:
		return strconv.FormatInt(int64(value/time.Minute), 10) + "m"
	case value%time.Second == 0:
		return strconv.FormatInt(int64(value/time.Second), 10) + "s"
	}
	return value.String()
}

// MarshalJSON writes "1h", and 0 as a bare number.
func (d Duration) MarshalJSON() ([]byte, error) {
	if d == 0 {
		return []byte("0"), nil
	}
	return strconv.AppendQuote(nil, d.String()), nil
}

// MarshalYAML writes 1h, and 0 as a bare number.
func (d Duration) MarshalYAML() (any, error) {
	if d == 0 {
		return 0, nil
	}
	return d.String(), nil
}

// UnmarshalJSON reads what MarshalJSON writes, and every other valid form.
func (d *Duration) UnmarshalJSON(data []byte) error { return unmarshalScalar(data, d) }

// setScalar reads a duration; tag is the YAML tag of the text.
func (d *Duration) setScalar(tag, text string) error {
	if tag != tagString && tag != tagInt && tag != tagFloat {
		return errors.New(`not a duration; write one with its unit, such as "90s" or "1h"`)
	}
	value, err := time.ParseDuration(text)
	switch {
	case err != nil && tag != tagString:
		return errors.New(`a duration needs a unit; write "90s" or "1h"`)
	case err != nil:
		return errors.New(`not a duration; write hours, minutes and seconds, such as "720h", "90s" or "1h30m"`)
	case value < 0:
		return errors.New("a duration must not be negative")
	}
	*d = Duration(value)
	return nil
}

// Stickiness is session_affinity: true, false, or the word strict. The zero
// value is unset.
type Stickiness string

// The values of Stickiness.
const (
	StickinessUnset Stickiness = ""
	Sticky          Stickiness = "true"
	NotSticky       Stickiness = "false"
	Strict          Stickiness = "strict" // wait or refuse rather than leave a preference that is only transiently unavailable
)

// MarshalJSON writes true and false as booleans, strict as a string and an
// unset value as null.
func (s Stickiness) MarshalJSON() ([]byte, error) {
	switch s {
	case Sticky, NotSticky:
		return []byte(s), nil
	case StickinessUnset:
		return []byte("null"), nil
	}
	return json.Marshal(string(s))
}

// MarshalYAML is MarshalJSON's form in YAML.
func (s Stickiness) MarshalYAML() (any, error) {
	switch s {
	case Sticky, NotSticky:
		return s == Sticky, nil
	case StickinessUnset:
		return nil, nil
	}
	return string(s), nil
}

// UnmarshalJSON takes a boolean or one of the words true, false and strict.
func (s *Stickiness) UnmarshalJSON(data []byte) error { return unmarshalScalar(data, s) }

// setScalar reads a stickiness; tag is the YAML tag of the text.
func (s *Stickiness) setScalar(tag, text string) error {
	value := Stickiness(text)
	if tag == tagBool {
		value = Stickiness(strings.ToLower(text))
	}
	switch value {
	case Sticky, NotSticky, Strict:
		*s = value
		return nil
	}
	return errors.New("must be true, false or strict")
}

// scalar is a type that reads itself from one YAML or JSON scalar.
type scalar interface {
	setScalar(tag, text string) error
}

// The tags of the scalars that a document is made of.
const (
	tagString = "!!str"
	tagBool   = "!!bool"
	tagInt    = "!!int"
	tagFloat  = "!!float"
	tagNull   = "!!null"
	tagTime   = "!!timestamp"
	tagMerge  = "!!merge"
)

// unmarshalScalar reads one JSON scalar into target; null leaves it alone.
func unmarshalScalar(data []byte, target scalar) error {
	var value any
	if err := json.Unmarshal(data, &value); err != nil {
		return err
	}
	switch value := value.(type) {
	case nil:
		return nil
	case string:
		return target.setScalar(tagString, value)
	case bool:
		return target.setScalar(tagBool, strconv.FormatBool(value))
	case float64:
		return target.setScalar(tagFloat, string(data))
	}
	return fmt.Errorf("must be a single value, not %s", kindOfJSON(value))
}

func kindOfJSON(value any) string {
	if _, ok := value.([]any); ok {
		return "a list"
	}
	return "an object"
}

// finite reports whether v is a number that arithmetic can use.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
