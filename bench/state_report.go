package bench

import (
	"fmt"
	"io"
	"text/tabwriter"
)

// StateReport is what State measured. Units are in the names: ms, bytes, and MiB (1 << 20 bytes) per second.
type StateReport struct {
	// FileSystem is where the stores were.
	FileSystem FileSystem `json:"file_system"`
	// Steps are the costs of durable steps, Travel of forks and rewinds, Restore of another process that goes on with a
	// session, Files of file operations, Size of what is on the disk.
	Steps   []StepCost    `json:"steps"`
	Travel  []TravelCost  `json:"travel"`
	Restore []RestoreCost `json:"restore,omitempty"`
	Files   []FilesCost   `json:"files"`
	Size    []SizeCost    `json:"size"`

	Machine  Machine  `json:"machine"`
	Versions Versions `json:"versions"`
	// Notes say what a reader of the numbers should know.
	Notes []string `json:"notes,omitempty"`

	opts StateOptions
}

// WriteText prints the report as tables for people.
func (r *StateReport) WriteText(out io.Writer) error {
	writeSetting(out, &r.Machine, &r.Versions)
	if f := r.FileSystem; f.Type != "" {
		fmt.Fprintf(out, "stores on %s (%s, %s)\n", f.Type, f.Device, f.Options)
	}
	for _, write := range []func(*tabwriter.Writer){r.writeSteps, r.writeBytes, r.writeTravel, r.writeRestore, r.writeFiles, r.writeSize} {
		fmt.Fprintln(out)
		w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		write(w)
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if r.Versions.Native != "" {
		fmt.Fprintf(out, "native is %s at %s\n", r.Versions.Native, r.Versions.NativePath)
	}
	return writeNotes(out, r.Notes)
}

func both(q Quantiles) string { return number(q.P50) + " / " + number(q.P99) }

func (r *StateReport) writeSteps(w *tabwriter.Writer) {
	fmt.Fprintln(w, "durable step, ms p50 / p99\tchange\tstep\tin memory\toverhead\tof it after the code\tof it commit\tsamples")
	for _, s := range r.Steps {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", s.Mode, s.Change, both(s.StepMS), both(s.MemoryMS),
			both(s.OverheadMS), both(s.StoreMS), both(s.CommitMS), s.Samples)
	}
}

func (r *StateReport) writeBytes(w *tabwriter.Writer) {
	fmt.Fprintln(w, "durable step, mean\tchange\trecord\tobjects\tnumber\tkept, compressed\tdisk")
	for _, s := range r.Steps {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", s.Mode, s.Change, size(s.RecordBytes), size(s.ObjectBytes),
			number(s.Objects), size(s.KeptBytes), size(s.DiskBytes))
	}
}

func (r *StateReport) writeTravel(w *tabwriter.Writer) {
	fmt.Fprintln(w, "fork and rewind, ms p50 / p99\tfork\tand first execution\trewind to step 2\tand first execution\tsamples")
	for _, t := range r.Travel {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%d\n", t.Session, both(t.ForkMS), both(t.ForkExecMS), both(t.RewindMS),
			both(t.RewindExecMS), t.Samples)
	}
}

func (r *StateReport) writeRestore(w *tabwriter.Writer) {
	if len(r.Restore) == 0 {
		return
	}
	fmt.Fprintln(w, "restore in another process, ms p50\ttotal\topen store\topen session\trestore\tfirst execution\tnot in total: guest\tclose\tprocess\tsamples")
	for _, c := range r.Restore {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\n", c.Session, number(c.TotalMS.P50), number(c.StoreOpenMS.P50),
			number(c.SessionOpenMS.P50), number(c.RestoreMS.P50), number(c.ExecMS.P50), number(c.ImageMS.P50), number(c.CloseMS.P50),
			number(c.ProcessMS.P50), c.Samples)
	}
}

func (r *StateReport) writeFiles(w *tabwriter.Writer) {
	fmt.Fprintln(w, "files, median\tcreate 4 KiB per s\tread per s\tappend per s\tremove per s\twrite MiB/s\tread MiB/s\tsamples")
	for _, f := range r.Files {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t%d\n", f.Where, f.CreatePerS, f.ReadPerS, f.AppendPerS, f.RemovePerS,
			f.WriteMiBS, f.ReadMiBS, f.Samples)
	}
}

func (r *StateReport) writeSize(w *tabwriter.Writer) {
	fmt.Fprintln(w, "size of a store\ton the disk\tper step\tcontent\tcompressed\tcheck ms\tverify ms\tidentical")
	for _, s := range r.Size {
		name := fmt.Sprintf("%d steps", s.Steps)
		if s.Keep > 0 {
			name += fmt.Sprintf(", keep %d", s.Keep)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d of %d\n", name, size(float64(s.DiskBytes)), size(s.StepBytes),
			size(float64(s.LogicalBytes)), size(float64(s.KeptBytes)), number(s.ChainMS), number(s.VerifyMS), s.Identical, s.Executed)
	}
}

// size prints bytes in the unit that suits.
func size(bytes float64) string {
	switch {
	case bytes >= 1<<20 || bytes <= -1<<20:
		return number(bytes/(1<<20)) + " MiB"
	case bytes >= 1<<10 || bytes <= -1<<10:
		return number(bytes/(1<<10)) + " KiB"
	}
	return fmt.Sprintf("%.0f B", bytes)
}
