package settings

import (
	"errors"
	"log/slog"
	"reflect"
	"strconv"
	"time"

	"github.com/kesita/platform/coordination/timing"
)

// variable is one field of Settings and what its tags say.
type variable struct {
	Name, Default, Services, About string

	fieldName string
	field     reflect.Value
	accepts   string
	min, max  string
}

func variablesOf(s *Settings) []variable {
	value := reflect.ValueOf(s).Elem()
	list := make([]variable, 0, value.NumField())
	for i := range value.NumField() {
		field := value.Type().Field(i)
		tag := field.Tag.Get
		list = append(list, variable{
			Name: tag("env"), Default: tag("envDefault"), Services: tag("services"), About: tag("about"),
			fieldName: field.Name, field: value.Field(i), accepts: tag("accepts"), min: tag("min"), max: tag("max"),
		})
	}
	return list
}

func (v variable) isSecret() bool { return v.field.Type() == reflect.TypeFor[Secret]() }

func (v variable) isDuration() bool { return v.field.Type() == reflect.TypeFor[time.Duration]() }

// unreadable says why a value could not be parsed, without the value.
func (v variable) unreadable(err error) string {
	switch {
	case errors.Is(err, strconv.ErrRange), errors.Is(err, errFactor):
		return "is out of bounds"
	case v.isDuration():
		return "is not a duration"
	case v.accepts == "":
		return "is not a whole number"
	}
	return "is not understood"
}

// instead is what to write.
func (v variable) instead() string {
	switch {
	case v.accepts != "":
		return v.accepts
	case v.isDuration():
		return "a duration from " + v.min + " to " + v.max + ", such as " + v.Default
	}
	return "a whole number from " + v.min + " to " + v.max + ", such as " + v.Default
}

// check returns what is wrong with the value that the field has now, or nothing.
func (v variable) check() string {
	switch value := v.field.Interface().(type) {
	case Secret:
		return checkURL(v.Name, value)
	case string:
		return checkAddress(value)
	case timing.Timing:
		if err := value.Validate(); err != nil {
			return "gives contradictory budgets: " + err.Error()
		}
		return ""
	case slog.Level:
		return ""
	}
	low, high := bound(v.min), bound(v.max)
	if v.field.Int() < low || v.field.Int() > high {
		return "is out of bounds"
	}
	return ""
}

// bound reads a tag of ours: a whole number or a duration. A tag that is neither bounds nothing, which the test of
// the tags does not let through.
func bound(tag string) int64 {
	if d, err := time.ParseDuration(tag); err == nil {
		return int64(d)
	}
	n, err := strconv.ParseInt(tag, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
