package wire

import "slices"

// Number reads an optional number of the body; null counts as absent.
func (f *Facts) Number(name string) (*float64, *Problem) {
	v := f.Value(name)
	if !v.Given() {
		return nil, nil
	}
	if n, ok := v.Float(); ok {
		return &n, nil
	}
	return nil, Malformed(name, "a number")
}

// Whole reads an optional whole number of the body; null counts as absent.
func (f *Facts) Whole(name string) (*int64, *Problem) {
	v := f.Value(name)
	if !v.Given() {
		return nil, nil
	}
	if n, ok := v.Int(); ok {
		return &n, nil
	}
	return nil, Malformed(name, "a whole number")
}

// Flag reads an optional boolean of the body; null counts as absent.
func (f *Facts) Flag(name string) (*bool, *Problem) {
	is, given, p := f.flag(name)
	if !given || p != nil {
		return nil, p
	}
	return &is, nil
}

// String reads an optional string of the body; null counts as absent.
func (f *Facts) String(name string) (string, *Problem) {
	v := f.Value(name)
	if v.Given() && v.Kind() != '"' {
		return "", Malformed(name, "a string")
	}
	return v.Text(), nil
}

// Others notes the members of the body that say something and are none of the
// known ones, nor the gateway's own. It looks at the first few hundred only.
func (f *Facts) Others(list []string, known ...string) []string {
	looks := 0
	f.doc.Names(func(name []byte) bool {
		switch text := string(name); {
		case slices.Contains(known, text), !f.Value(text).Filled():
		case text == "session_id", text == "litellm_session_id", text == "disable_fallbacks":
		default:
			list = Note(list, text)
		}
		looks++
		return looks < 512
	})
	return list
}

// Malformed refuses a part of the body, named by its path, that is not what it
// must be.
func Malformed(path, must string) *Problem {
	return Refuse(InvalidRequest).About(path).Saying(Clean(path, 64) + " must be " + must + ". Correct it and send the request again.")
}

// Untranslatable refuses a part of the body, named by its path, that the
// deployment of another protocol cannot be told and without which the request
// would mean something else.
func Untranslatable(path, what string) *Problem {
	return Refuse(CapabilityMissing).About(path).Saying(what +
		" cannot be carried to the protocol of this model's deployment. Leave it out or use another model.")
}
