package wire

import "holdfast/functions/internal/wire/jsonedit"

// Strictly reports whether a JSON schema may be strict in the OpenAI protocols: it
// is an object's, and every object in it, at any depth, allows no other members than it
// names and requires all of them.
func Strictly(schema jsonedit.Value) bool {
	return schema.Get("properties").Kind() == '{' && allClosed(schema)
}

func allClosed(v jsonedit.Value) bool {
	if v.Kind() == '{' && v.Get("properties").Kind() == '{' && !closed(v) {
		return false
	}
	for each := v.Each(); each.Next(); {
		if !allClosed(each.Value()) {
			return false
		}
	}
	return true
}

// closed reports whether an object's schema is closed and requires all that it
// names. What is named twice among the required counts once.
func closed(schema jsonedit.Value) bool {
	if open, ok := schema.Get("additionalProperties").Bool(); open || !ok {
		return false
	}
	required := map[string]bool{}
	for each := schema.Get("required").Each(); each.Next(); {
		required[each.Value().Text()] = true
	}
	for each := schema.Get("properties").Each(); each.Next(); {
		if !required[string(each.Name())] {
			return false
		}
	}
	return true
}
