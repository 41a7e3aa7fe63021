package demo

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/kesita/platform/worker/demo/evidence"
	"github.com/kesita/platform/worker/demo/timeline"
	"github.com/kesita/platform/worker/demo/verdict"
)

// report is the run in one document: what --output json prints.
type report struct {
	// Held is true when every rule held.
	Held bool `json:"held"`
	// Profile is the timing profile, LeaseSeconds the validity of a lease in it, Seconds the length of the run.
	Profile      string           `json:"timing"`
	LeaseSeconds float64          `json:"lease_seconds"`
	Seconds      float64          `json:"seconds"`
	Documents    []documentReport `json:"documents"`
	Replicas     []replicaReport  `json:"replicas"`
	Stories      []timeline.Story `json:"timeline"`
	Rules        []verdict.Result `json:"rules"`
	// Summary is one that the product published, if possible for a document whose work was interrupted.
	Summary summary         `json:"summary"`
	Search  evidence.Search `json:"search"`
}

// summary is a published revision of a document.
type summary struct {
	Document string `json:"document"`
	Revision int    `json:"revision"`
	Text     string `json:"text"`
}

// documentReport is what became of one document.
type documentReport struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	// Outcomes is the state of the work of each service; a service that got none of it is left out.
	Outcomes map[string]outcome `json:"outcomes"`
	// Fault says why the document was not handed to the product.
	Fault string `json:"fault,omitempty"`
}

type outcome struct {
	State   string `json:"state"`
	Failure string `json:"failure,omitempty"`
	// Parts counts indexed passages.
	Parts int `json:"passages,omitempty"`
}

type replicaReport struct {
	Name       string `json:"name"`
	Service    string `json:"service"`
	PID        int    `json:"pid"`
	ExecutorID string `json:"executor_id"`
	Killed     bool   `json:"killed"`
}

func (r *run) report(e evidence.Evidence, published summary) report {
	made := report{
		Profile: r.profile(), LeaseSeconds: r.pace.Lease.Seconds(), Seconds: time.Since(r.began).Seconds(),
		Rules: verdict.Judge(e), Search: e.Search, Summary: published,
	}
	made.Held = verdict.Held(made.Rules)
	for _, s := range e.Services {
		made.Stories = append(made.Stories, timeline.Tell(s)...)
	}
	for _, s := range r.services {
		for _, w := range s.replicas {
			made.Replicas = append(made.Replicas, replicaReport{
				Name: w.Name(), Service: s.name, PID: w.PID(), ExecutorID: w.executorID, Killed: w.Name() == s.evidence.Kill.Replica,
			})
		}
	}
	for _, d := range r.documents {
		made.Documents = append(made.Documents, d.report(e))
	}
	return made
}

func (d document) report(e evidence.Evidence) documentReport {
	made := documentReport{Name: d.Name, Bytes: d.Bytes, Fault: d.fault, Outcomes: map[string]outcome{}}
	for _, s := range e.Services {
		for _, i := range s.Items {
			if i.Document == d.Name {
				made.Outcomes[s.Name] = outcome{State: i.State, Failure: i.Failure, Parts: i.Parts}
			}
		}
	}
	return made
}

func (r report) write(out io.Writer) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
