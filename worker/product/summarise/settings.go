package summarise

import (
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Settings of a client. There are no defaults here: the worker's settings hold them.
type Settings struct {
	// BaseURL is the provider's address; the contract's paths are added to it.
	BaseURL string
	// AttemptTimeout bounds one attempt, from the first byte out to the last in.
	AttemptTimeout time.Duration
	// Attempts bounds the requests of one call; 1 means no retry.
	Attempts int
	// FirstPause and LongestPause bound the jittered, doubling pause between two
	// attempts. A provider that asks for a longer pause than LongestPause
	// (Retry-After) is not tried again.
	FirstPause, LongestPause time.Duration
	// Concurrency bounds the requests that one client has open at a time, over all its calls. A call that waits for its
	// turn does so in its own context.
	Concurrency int
	// ResponseBytes bounds an answer; a longer one is nonsense.
	ResponseBytes int64
}

// Longest is the time after which a call has ended, whatever the provider does. It has no wait for a turn: only the
// caller's context bounds that.
func (s Settings) Longest() time.Duration {
	return time.Duration(s.Attempts)*s.AttemptTimeout + time.Duration(s.Attempts-1)*s.LongestPause
}

// Validate returns an error that names every fault. budget is that of the step
// which makes the call: the call must end before (P5).
func (s Settings) Validate(budget time.Duration) error {
	var faults []error
	check := func(good bool, fault string) {
		if !good {
			faults = append(faults, errors.New(fault))
		}
	}
	address, err := url.Parse(s.BaseURL)
	check(err == nil && (address.Scheme == "http" || address.Scheme == "https") && address.Host != "",
		"provider url must be http or https with a host")
	check(err != nil || address.RawQuery == "" && address.Fragment == "", "provider url must have no query and no fragment")
	check(s.AttemptTimeout > 0, "provider attempt timeout must be positive")
	check(s.Attempts > 0, "provider attempts must be positive")
	check(s.Concurrency > 0, "provider concurrency must be positive")
	check(s.FirstPause > 0 && s.FirstPause <= s.LongestPause, "provider pauses must be positive, the first not above the longest")
	check(s.ResponseBytes > 0, "provider response bytes must be positive")
	if len(faults) == 0 && s.Longest() >= budget {
		faults = append(faults, fmt.Errorf("all provider attempts and pauses together, %s, must stay below the step budget, %s",
			s.Longest(), budget))
	}
	return errors.Join(faults...)
}
