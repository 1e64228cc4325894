/** The data that the page passes to its script. */
type PageData = {
  readonly solution: string
  readonly draft: string
  /** The path of the draft in the API, without a slash at the end. */
  readonly api: string
  /** The path of this page, with the draft in the query. */
  readonly page: string
  /** The path that returns the title, the tabs and the base of the draft as HTML. */
  readonly head: string
  /** The path that returns the CSRF token of the current session to the script. */
  readonly session: string
  /** The URL of the editor's completions: see host/workbench/completions.ts. */
  readonly completions: string
  /** The path that returns the URL of the login page's preview to the script. */
  readonly preview: string
  /** The maximum size of a file in bytes. */
  readonly most: number
  /** The URL of the solution for its users. */
  readonly address: string
  /** The file to open first, and the line in it; null if the draft has no files. */
  readonly file: string | null
  readonly line: number | null
  readonly texts: Readonly<Record<string, string>>
}

export const pageData = JSON.parse(document.getElementById('workbench-data')?.textContent ?? '{}') as PageData

/** Returns one of the page's texts in the user's language. @param key without the prefix `admin.workbench.` */
export function wordsFor(key: string, ...values: readonly (string | number)[]): string {
  const text = pageData.texts[`admin.workbench.${key}`] ?? `!${key}!`
  return text.replace(/\{(\d+)\}/g, (place, index) => String(values[Number(index)] ?? place))
}

/** The page's element with this id. The template of the page contains all of them. */
export function partOf<Type extends HTMLElement = HTMLElement>(id: string): Type {
  const found = document.getElementById(`workbench-${id}`)
  if (found === null) throw new TypeError(`the page has no element workbench-${id}`)
  return found as Type
}

export function elementOf<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  content: string | readonly Node[] = [],
  attributes: Readonly<Record<string, string>> = {},
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name)
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value)
  if (typeof content === 'string') element.textContent = content
  else element.append(...content)
  return element
}

export function buttonOf(label: string, act: () => void, look = 'button-quiet'): HTMLButtonElement {
  const button = elementOf('button', label, { type: 'button', class: `button ${look}` })
  button.addEventListener('click', act)
  return button
}

export function clockText(time: number): string {
  return new Date(time).toLocaleTimeString(document.documentElement.lang)
}
