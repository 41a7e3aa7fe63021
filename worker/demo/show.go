package demo

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kesita/platform/worker/demo/screen"
)

// Cells of tables.
func text(format string, values ...any) screen.Cell {
	return screen.Cell{Text: fmt.Sprintf(format, values...)}
}

func dim(format string, values ...any) screen.Cell {
	return screen.Cell{Text: fmt.Sprintf(format, values...), Style: screen.Dim}
}

func number(format string, values ...any) screen.Cell {
	return screen.Cell{Text: fmt.Sprintf(format, values...), Right: true}
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

func (r *run) showStart() {
	from := "the texts that ship with it"
	if r.options.Docs != "" {
		from = r.library.Folder
	}
	r.screen.Raw(r.screen.Paint(screen.Bold, "Kesita demo"))
	rows := [][]screen.Cell{
		{dim("documents"), text("%d, from %s", len(r.documents), from)},
		{dim("timing"), text("%s: lease %s, renewed every %s, scan every %s", r.profile(),
			short(r.pace.Lease), short(r.pace.Renew), short(r.pace.Scan))},
		{dim("logs"), text("%s", r.logs), dim("%s", r.logsStay())},
	}
	if r.library.LeftOut > 0 {
		rows[0][1].Text += fmt.Sprintf(" (%d more left out)", r.library.LeftOut)
	}
	faults := 0
	for _, d := range r.documents {
		if d.fault != "" {
			faults++
		}
	}
	if faults > 0 {
		rows[0][1].Text += fmt.Sprintf("; %d without text for the product", faults)
	}
	r.screen.Table(rows)
}

func (r *run) logsStay() string {
	if r.options.Logs != "" {
		return ""
	}
	return "(removed at the end, unless a rule is broken)"
}

// short writes a duration in seconds, however long it is: so are all budgets of this project.
func short(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'g', -1, 64) + " s" }

func (r *run) showDatabases(took time.Duration) {
	var names []string
	for _, s := range r.services {
		names = append(names, s.database.name)
	}
	r.screen.Line("PostgreSQL on 127.0.0.1:%d, migrated: %s  %s", r.server.Port(), strings.Join(names, ", "), r.took(took))
}

func (r *run) took(d time.Duration) string { return r.screen.Paint(screen.Dim, seconds(d)) }

func (r *run) showCrew(took time.Duration) {
	rows := [][]screen.Cell{{text("provider"), dim("pid %d", r.provider.PID()), dim("%s", r.providerURL)}}
	for _, s := range r.services {
		for _, w := range s.replicas {
			rows = append(rows, []screen.Cell{text("%s", w.Name()), dim("pid %d", w.PID()), dim("%s", w.url()), dim("executor %s", w.executorID)})
		}
	}
	r.screen.Table(rows)
	r.screen.Line("all ready  %s", r.took(took))
}

func (r *run) showWork(took time.Duration) {
	var parts []string
	for _, s := range r.services {
		parts = append(parts, fmt.Sprintf("%d for %s", len(s.evidence.Items), s.name))
	}
	r.screen.Line("%d documents submitted: %s  %s", len(r.documents), strings.Join(parts, ", "), r.took(took))
}

func (r *run) showKills(time.Duration) {
	for _, s := range r.services {
		kill := s.evidence.Kill
		r.screen.Line("%s  pid %d, while it held %d workflows", r.screen.Paint(screen.Bad, "SIGKILL "+kill.Replica), kill.PID, len(kill.Held))
	}
}

func (r *run) showSettled(took time.Duration) {
	settled, total := 0, 0
	for _, s := range r.services {
		settled, total = settled+s.settled(), total+len(s.evidence.Items)
	}
	r.screen.Line("%d of %d at their end  %s", settled, total, r.took(took))
}
