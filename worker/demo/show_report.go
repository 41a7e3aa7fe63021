package demo

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kesita/platform/worker/demo/screen"
	"github.com/kesita/platform/worker/demo/timeline"
	"github.com/kesita/platform/worker/demo/verdict"
)

// showReport prints what people want to see of a run: stories, documents, search, rules.
func (r *run) showReport(made report) {
	for _, s := range r.services {
		var stories []timeline.Story
		for _, story := range made.Stories {
			if story.Service == s.name {
				stories = append(stories, story)
			}
		}
		r.showStories(s, stories)
	}
	r.showDocuments(made)
	r.showSummary(made.Summary)
	r.showSearch(made)
	r.showRules(made)
}

// showStories tells one story in full, and the stations of the others in a row each.
func (r *run) showStories(s *service, stories []timeline.Story) {
	if len(stories) == 0 {
		return
	}
	slices.SortStableFunc(stories, interesting)
	r.screen.Section(fmt.Sprintf("Timeline of %s, in seconds from the kill of %s", s.name, s.evidence.Kill.Replica))
	rows := make([][]screen.Cell, 0, len(stories[0].Events))
	for _, e := range stories[0].Events {
		rows = append(rows, []screen.Cell{number("%+.2f", e.Seconds), {Text: string(e.Kind), Style: styleOf(e.Kind)}, text("%s", e.Who), dim("%s", e.Detail)})
	}
	r.screen.Table(rows)
	if len(stories) == 1 {
		return
	}
	r.screen.Raw("")
	r.screen.Table(stations(stories[1:]))
}

// interesting puts stories of work that was in the middle first.
func interesting(a, b timeline.Story) int {
	rank := func(s timeline.Story) int {
		if slices.ContainsFunc(s.Events, func(e timeline.Event) bool { return e.Kind == timeline.Checkpoint && e.Seconds < 0 }) {
			return 0
		}
		return 1
	}
	return rank(a) - rank(b)
}

func stations(stories []timeline.Story) [][]screen.Cell {
	kinds := []timeline.Kind{timeline.Submitted, timeline.Claimed, timeline.Reenqueued, timeline.Resumed, timeline.Finished}
	head := []screen.Cell{dim("also held")}
	for _, kind := range kinds {
		head = append(head, screen.Cell{Text: string(kind), Style: screen.Dim, Right: true})
	}
	rows := [][]screen.Cell{append(head, dim("by"), dim("resumed from"))}
	for _, story := range stories {
		row := []screen.Cell{text("%s", story.Document)}
		for _, kind := range kinds {
			cell := number("-")
			if e, told := story.Find(kind); told {
				cell = number("%+.2f", e.Seconds)
			}
			row = append(row, cell)
		}
		resumed, _ := story.Find(timeline.Resumed)
		rows = append(rows, append(row, text("%s", resumed.Who), dim("%s", resumed.Detail)))
	}
	return rows
}

func styleOf(kind timeline.Kind) screen.Style {
	switch kind {
	case timeline.Killed:
		return screen.Bad
	case timeline.Expired, timeline.Revoked, timeline.Reenqueued:
		return screen.Note
	case timeline.Resumed, timeline.Finished:
		return screen.Good
	default:
		return screen.Plain
	}
}

func (r *run) showDocuments(made report) {
	r.screen.Section("Documents")
	head := []screen.Cell{dim("document"), {Text: "bytes", Style: screen.Dim, Right: true}}
	for _, s := range r.services {
		head = append(head, dim("%s", s.name))
	}
	rows := [][]screen.Cell{head}
	for _, d := range made.Documents {
		row := []screen.Cell{text("%s", d.Name), number("%d", d.Bytes)}
		for _, s := range r.services {
			row = append(row, d.cell(s.name))
		}
		rows = append(rows, row)
	}
	r.screen.Table(rows)
}

func (d documentReport) cell(service string) screen.Cell {
	o, submitted := d.Outcomes[service]
	switch {
	case !submitted:
		return screen.Cell{Text: "not submitted: " + d.Fault, Style: screen.Note}
	case o.Failure != "":
		return screen.Cell{Text: o.State + ": " + o.Failure, Style: screen.Note}
	case o.Parts > 0:
		return text("%s, %d passages", o.State, o.Parts)
	}
	return text("%s", o.State)
}

func (r *run) showSummary(published summary) {
	if published.Text == "" {
		return
	}
	r.screen.Section(fmt.Sprintf("Summary of %s, published as revision %d", published.Document, published.Revision))
	for _, line := range wrapped(published.Text) {
		r.screen.Line("%s", line)
	}
}

func (r *run) showSearch(made report) {
	r.screen.Section("Search: " + made.Search.Query)
	for _, hit := range made.Search.Hits {
		r.screen.Line("%s  %s", hit.Title, r.screen.Paint(screen.Dim, hit.Document))
		for _, line := range wrapped(hit.Snippet) {
			line = strings.ReplaceAll(line, "«", r.bold())
			r.screen.Line("  %s", strings.ReplaceAll(line, "»", r.plain()))
		}
	}
}

// wrapped breaks a text into lines that fit a terminal.
func wrapped(text string) []string {
	const width = 100
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+utf8.RuneCountInString(word) >= width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

// bold and plain stand for the marks of a hit where there are colours.
func (r *run) bold() string {
	before, _, _ := strings.Cut(r.screen.Paint(screen.Bold, "x"), "x")
	if before == "" {
		return "«"
	}
	return before
}

func (r *run) plain() string {
	_, after, _ := strings.Cut(r.screen.Paint(screen.Bold, "x"), "x")
	if after == "" {
		return "»"
	}
	return after
}

func (r *run) showRules(made report) {
	r.screen.Section("Rules")
	rows := make([][]screen.Cell, 0, len(made.Rules))
	for _, rule := range made.Rules {
		mark := screen.Cell{Text: "ok", Style: screen.Good}
		if !rule.Held {
			mark = screen.Cell{Text: "BROKEN", Style: screen.Bad}
		}
		rows = append(rows, []screen.Cell{mark, text("%s", rule.Rule), dim("%s", rule.Measure)})
	}
	r.screen.Table(rows)
	for _, rule := range made.Rules {
		r.showFaults(rule)
	}
	r.screen.Raw("")
	if made.Held {
		r.screen.Raw(r.screen.Paint(screen.Good, "Every rule held.") + fmt.Sprintf(" %.0f s in all.", made.Seconds))
		return
	}
	r.screen.Raw(r.screen.Paint(screen.Bad, "Not every rule held."))
}

// showFaults lists the first faults of a broken rule; the JSON document has all.
func (r *run) showFaults(rule verdict.Result) {
	const most = 8
	if rule.Held {
		return
	}
	r.screen.Raw("")
	r.screen.Line("%s", r.screen.Paint(screen.Bad, "broken: "+rule.Rule))
	for i, fault := range rule.Faults {
		if i == most {
			r.screen.Line("  and %d more", len(rule.Faults)-most)
			break
		}
		r.screen.Line("  %s", fault)
	}
}
