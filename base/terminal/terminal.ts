import { styleText } from 'node:util'
import { unicodeEscape } from '../../runtime/template/escape.ts'

type Style = Parameters<typeof styleText>[0]

/** The output of a command. Styles are used only on a terminal, and never if NO_COLOR is set. */
export interface Terminal {
  /** Writes to standard output, for the output that the user requested. */
  out(text: string): void
  /** Writes to standard error, for everything else, such as problems and progress. */
  err(text: string): void
  /** Returns the text in a style if `out` supports styles; otherwise unchanged. */
  styled(style: Style, text: string): string
  /** Same as `styled`, but for `err`. */
  styledError(style: Style, text: string): string
  /** Whether the command can prompt the user and show its progress. */
  readonly isInteractive: boolean
  readonly environment: Environment
}

export type Environment = Readonly<Record<string, string | undefined>>

export function createTerminal(
  out: NodeJS.WriteStream,
  err: NodeJS.WriteStream,
  input: NodeJS.ReadStream,
  environment: Environment,
): Terminal {
  return {
    out: (text) => void out.write(text),
    err: (text) => void err.write(text),
    styled: (style, text) => styleText(style, text, { stream: out }),
    styledError: (style, text) => styleText(style, text, { stream: err }),
    isInteractive: input.isTTY === true && err.isTTY === true,
    environment,
  }
}

/**
 * Control characters that a terminal interprets: cursor movement, colours, text direction. Line breaks and tabs are
 * allowed.
 */
const CONTROL = '\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069'
const CONTROLS = new RegExp(`[${CONTROL}]`, 'g')
/** Matches the same characters in JSON, escaped or literal. All other escapes are matched too, but not captured. */
const CONTROLS_OF_JSON = new RegExp(`(\\\\(?:u00[01][\\da-f]|[bfr])|[${CONTROL}])|\\\\.`, 'g')

/** Makes text from a file or a host safe for a terminal: control characters become �. */
export function printable(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(CONTROLS, '�')
}

/** Same as `printable`, but for JSON: the result is still valid JSON. */
export function printableJson(text: string): string {
  return text.replace(CONTROLS_OF_JSON, (found: string, control?: string) => (control === undefined ? found : '�'))
}

/**
 * Returns a value as JSON, on several lines or one. Control characters are escaped, so that a terminal doesn't
 * interpret them.
 */
export function jsonText(value: object, isInOneLine = false): string {
  return `${JSON.stringify(value, null, isInOneLine ? 0 : 2).replace(CONTROLS, unicodeEscape)}\n`
}
