package console

import (
	"cmp"
	"fmt"
	"io"

	"github.com/apbridge/apbridge/config"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
)

// LogFlags override the configuration, unless they are "".
type LogFlags struct{ Level, Format string }

// The levels and formats of a log.
var (
	LogLevels  = []string{"debug", "info", "warn", "error"}
	LogFormats = []string{"json", "console", "auto"}
)

// Add adds the flags to a command.
func (f *LogFlags) Add(set *pflag.FlagSet) {
	set.Var((*Filled)(&f.Level), "log-level", "minimum `LEVEL`: debug, info, warn or error (default log.level of the configuration, else info)")
	set.Var((*Filled)(&f.Format), "log-format", "`FORMAT` of the log: json, console, or auto, which is console on a terminal (default log.format, else auto)")
}

// Complete adds completions for the values of the flags.
func (f *LogFlags) Complete(cmd *cobra.Command) {
	CompleteWords(cmd, "log-level", LogLevels...)
	CompleteWords(cmd, "log-format", LogFormats...)
}

// Over returns the configuration with the flags applied.
func (f *LogFlags) Over(c config.Log) config.Log {
	return config.Log{Level: cmp.Or(f.Level, c.Level), Format: cmp.Or(f.Format, c.Format)}
}

// Check returns an error for an unknown level or format.
func (f *LogFlags) Check() error {
	_, err := NewLog(io.Discard, f.Over(config.Default().Log))
	return err
}

// Open returns a log that writes to w. Only the flags configure it.
func (f *LogFlags) Open(w io.Writer) (*zap.Logger, error) {
	s, err := NewLog(w, f.Over(config.Default().Log))
	if err != nil {
		return nil, err
	}
	return s.Logger(), nil
}

// encoderOf returns the encoder of a format, on a terminal or not.
func encoderOf(format string, onTerminal bool) (zapcore.Encoder, error) {
	switch {
	case format == "json" || format == "auto" && !onTerminal:
		c := zap.NewProductionEncoderConfig()
		c.EncodeTime, c.EncodeDuration = zapcore.RFC3339NanoTimeEncoder, zapcore.SecondsDurationEncoder
		return zapcore.NewJSONEncoder(c), nil
	case format == "console" || format == "auto":
		c := zap.NewDevelopmentEncoderConfig()
		c.EncodeTime, c.CallerKey = zapcore.TimeEncoderOfLayout("15:04:05.000"), zapcore.OmitKey
		return zapcore.NewConsoleEncoder(c), nil
	}
	return nil, Misuse(fmt.Sprintf("flag --log-format: %q is not one of json, console, auto", format))
}
