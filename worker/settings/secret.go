package settings

import "log/slog"

// Secret is a value that no log, error or dump may show. The zero value is an unset secret. It holds a pointer
// because fmt looks through unexported fields of a struct, and there it would print a string.
type Secret struct{ value *string }

// NewSecret returns a secret that Reveal gives back.
func NewSecret(value string) Secret { return Secret{value: &value} }

// Reveal returns the value, empty when it is not set. Hand it to what connects, and to nothing else.
func (s Secret) Reveal() string {
	if s.value == nil {
		return ""
	}
	return *s.value
}

// IsSet reports whether there is a value.
func (s Secret) IsSet() bool { return s.Reveal() != "" }

// String implements fmt.Stringer and shows only whether there is a value.
func (s Secret) String() string {
	if s.IsSet() {
		return "(secret)"
	}
	return "(not set)"
}

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return s.String() }

// LogValue implements slog.LogValuer.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText implements encoding.TextMarshaler, and with it JSON.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Secret) UnmarshalText(text []byte) error {
	*s = NewSecret(string(text))
	return nil
}
