package verdict

import (
	"fmt"

	"github.com/kesita/platform/worker/demo/evidence"
)

func onlyDocumentsFailed(e evidence.Evidence) (string, []string) {
	var faults report
	count := 0
	for _, s := range e.Services {
		for _, i := range s.Items {
			switch {
			case !i.Failed():
			case i.Refused:
				count++
			default:
				faults.add("%s: %s failed: %s", s.Name, i.Document, i.Failure)
			}
		}
	}
	return fmt.Sprintf("%d documents refused", count), faults
}

func publishedOnce(e evidence.Evidence) (string, []string) {
	var faults report
	count := 0
	for _, s := range e.Services {
		for _, i := range s.Items {
			expected := 1
			if i.Failed() {
				expected = 0
			}
			if i.Published != expected {
				faults.add("%s: %s published %d times, %d expected", s.Name, i.Document, i.Published, expected)
				continue
			}
			count += i.Published
		}
	}
	return fmt.Sprintf("%d publications", count), faults
}

func executedOnce(e evidence.Evidence) (string, []string) {
	var faults report
	executed, replayed := 0, 0
	known := map[string]bool{}
	for _, s := range e.Services {
		for _, i := range s.Items {
			if i.Key == "" {
				continue
			}
			known[i.Key] = true
			done := e.Executions[i.Key]
			executed, replayed = executed+done.Executed, replayed+done.Replayed
			if done.Executed != 1 && !i.Failed() || done.Executed > 1 {
				faults.add("the request for %s was executed %d times", i.Document, done.Executed)
			}
		}
	}
	for key := range e.Executions {
		if !known[key] {
			faults.add("the provider executed a request that nobody submitted: %s", key)
		}
	}
	return fmt.Sprintf("%d executed, %d answered again from the receipt", executed, replayed), faults
}

func passagesOnce(e evidence.Evidence) (string, []string) {
	var faults report
	parts := 0
	for _, s := range e.Services {
		for _, i := range s.Items {
			parts += i.Parts
			if i.Doubled > 0 {
				faults.add("%s: %d passages of %s are there twice", s.Name, i.Doubled, i.Document)
			}
			if i.Missing != 0 {
				faults.add("%s: %d passages of %s are missing", s.Name, i.Missing, i.Document)
			}
		}
	}
	if parts == 0 && anySucceeded(e) {
		faults.add("no passage was indexed")
	}
	return fmt.Sprintf("%d passages", parts), faults
}

func nobodyElseEnded(e evidence.Evidence) (string, []string) {
	var faults report
	for _, name := range e.Ended {
		faults.add("%s ended by itself", name)
	}
	return fmt.Sprintf("%d ended", len(e.Ended)), faults
}

func searchFinds(e evidence.Evidence) (string, []string) {
	var faults report
	if len(e.Search.Hits) == 0 && anySucceeded(e) {
		faults.add("nothing was found for %s", e.Search.Query)
	}
	return fmt.Sprintf("%d hits", len(e.Search.Hits)), faults
}

func anySucceeded(e evidence.Evidence) bool {
	for _, s := range e.Services {
		for _, i := range s.Items {
			if i.Settled && !i.Failed() {
				return true
			}
		}
	}
	return false
}
