import { styleText } from 'node:util'

type Style = Parameters<typeof styleText>[0]

/** Where a command writes. Styles show on a terminal only, and not with NO_COLOR. */
export interface Terminal {
  /** What was asked for. */
  out(text: string): void
  /** What is said beside it: problems, progress. */
  err(text: string): void
  /** Text in a style where `out` shows styles, else as it is. */
  styled(style: Style, text: string): string
  /** The same for `err`. */
  styledError(style: Style, text: string): string
  /** Whether a person can be asked, and sees progress. */
  readonly isInteractive: boolean
  /** The environment properties of whoever types there. */
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

/** What a terminal acts upon: moves of the cursor, colours, the direction of writing. Line breaks and tabs are none. */
const CONTROL = '\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069'
const CONTROLS = new RegExp(`[${CONTROL}]`, 'g')
/** The same where JSON has it: escaped, or as it is. Other escapes are passed over whole, without the group. */
const CONTROLS_OF_JSON = new RegExp(`(\\\\(?:u00[01][\\da-f]|[bfr])|[${CONTROL}])|\\\\.`, 'g')

/** A text from a file or a host as it may stand on a terminal: what that would act upon becomes �. */
export function printable(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(CONTROLS, '�')
}

/** The same for a text that is JSON, and stays so. */
export function printableJson(text: string): string {
  return text.replace(CONTROLS_OF_JSON, (found: string, control?: string) => (control === undefined ? found : '�'))
}

/** A value for machines, in lines or in one; a terminal that shows it does not act upon anything in it. */
export function jsonText(value: object, isInOneLine = false): string {
  const escaped = (one: string) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`
  return `${JSON.stringify(value, null, isInOneLine ? 0 : 2).replace(CONTROLS, escaped)}\n`
}
