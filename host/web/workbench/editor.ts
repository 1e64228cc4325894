import {
  autocompletion,
  type CompletionSource,
  closeBrackets,
  closeBracketsKeymap,
  completionKeymap,
} from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { css } from '@codemirror/lang-css'
import { html } from '@codemirror/lang-html'
import { javascript } from '@codemirror/lang-javascript'
import { json } from '@codemirror/lang-json'
import { bracketMatching, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { type Diagnostic, lintGutter, lintKeymap, nextDiagnostic, setDiagnostics } from '@codemirror/lint'
import { EditorState, type Extension } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { classHighlighter } from '@lezer/highlight'

/** An error or warning in the open file, by line and column from 1. */
export type Mark = {
  readonly line: number
  readonly column: number
  readonly severity: 'error' | 'warning'
  readonly message: string
}

export type EditorParts = {
  readonly place: HTMLElement
  readonly label: (path: string) => string
  /** Returns the completion source for a file, or null. */
  readonly complete: (path: string) => CompletionSource | null
  readonly edited: (path: string, text: string) => void
  readonly save: () => void
  /** Called when the user presses F8 in a file without problems. @returns whether another file has an error */
  readonly nextFile: () => boolean
}

/**
 * Characters that can hide what a script does, because they are invisible or look like others. Examples are unusual
 * spaces, joiners, direction marks, variation selectors and tags.
 */
const INVISIBLE = new RegExp(
  [
    '[\\u00a0\\u061c\\u180b-\\u180e\\u2000-\\u200a\\u202f\\u205f-\\u206f\\u3000\\ufe00-\\ufe0f]',
    '[\\u115f\\u1160\\u17b4\\u17b5\\u3164\\uffa0]',
    '\\u034f',
    '[\\u{e0000}-\\u{e0fff}]',
  ].join('|'),
  'gu',
)

/** Time in ms after Escape during which Tab leaves the editor. */
const TAB_RELEASED = 5000

const THEME = EditorView.theme({
  '&': { backgroundColor: 'var(--surface)', color: 'var(--ink)', fontSize: '0.875rem', maxHeight: '70vh' },
  '&.cm-focused': { outline: '2px solid var(--accent)' },
  '.cm-scroller': { fontFamily: 'var(--mono)', minHeight: '20rem' },
  '.cm-content': { caretColor: 'var(--ink)' },
  '.cm-cursor': { borderLeftColor: 'var(--ink)' },
  '.cm-gutters': { backgroundColor: 'var(--paper)', color: 'var(--quiet)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--tint)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--accent) 30%, transparent)',
  },
  '.cm-tooltip': { backgroundColor: 'var(--surface)', color: 'var(--ink)', border: '1px solid var(--edge)' },
  '.cm-tooltip-autocomplete ul li[aria-selected]': { backgroundColor: 'var(--accent)', color: 'var(--on-accent)' },
  '.cm-completionInfo': { maxWidth: '24rem', whiteSpace: 'pre-wrap' },
  '.cm-specialChar': { color: 'var(--bad)', border: '1px solid var(--bad-line)', borderRadius: '2px' },
  '.cm-diagnostic': { fontFamily: 'var(--sans)' },
})

/** The editor: one view that shows one file at a time and keeps the undo history of each file. */
export function createEditor(parts: EditorParts) {
  const states = new Map<string, EditorState>()
  let shown: string | null = null
  let isLoading = false
  const nonce = EditorView.cspNonce.of(document.querySelector<HTMLScriptElement>('script[nonce]')?.nonce ?? '')
  // Remove the text that the page shows if scripts are disabled.
  parts.place.replaceChildren()
  const view = new EditorView({ parent: parts.place, extensions: nonce })

  const common: Extension = [
    nonce,
    lineNumbers(),
    highlightActiveLineGutter(),
    highlightActiveLine(),
    highlightSpecialChars({ addSpecialChars: INVISIBLE, render: invisibleMark }),
    history(),
    drawSelection(),
    indentOnInput(),
    bracketMatching(),
    closeBrackets(),
    lintGutter(),
    syntaxHighlighting(classHighlighter),
    EditorView.lineWrapping,
    THEME,
    keymap.of([
      { key: 'Escape', run: releaseTab },
      { key: 'Mod-s', run: saveByKey, preventDefault: true },
      { key: 'F8', run: (target) => nextDiagnostic(target) || parts.nextFile(), preventDefault: true },
      ...closeBracketsKeymap,
      ...defaultKeymap,
      ...historyKeymap,
      ...completionKeymap,
      ...lintKeymap,
      indentWithTab,
    ]),
    EditorView.updateListener.of((update) => {
      if (update.docChanged && shown !== null && !isLoading) parts.edited(shown, update.state.doc.toString())
    }),
  ]

  function saveByKey(): boolean {
    parts.save()
    return true
  }

  function stateFor(path: string, text: string): EditorState {
    const complete = parts.complete(path)
    return EditorState.create({
      doc: text,
      extensions: [
        common,
        languageOf(path),
        complete === null ? autocompletion() : withCompletions(path, complete),
        EditorView.contentAttributes.of({ 'aria-label': parts.label(path) }),
      ],
    })
  }

  function keepShown(): void {
    if (shown !== null) states.set(shown, view.state)
  }

  return {
    view,
    /** Shows a file. If its text is unchanged since it was last shown, its undo history is restored. */
    show(path: string, text: string): void {
      keepShown()
      const earlier = states.get(path)
      shown = path
      view.setState(earlier?.doc.toString() === text ? earlier : stateFor(path, text))
    },
    /** Replaces the text of a file after it changed on the host. The user can undo this. */
    replace(path: string, text: string): void {
      states.delete(path)
      if (path !== shown) return
      isLoading = true
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } })
      isLoading = false
    },
    forget(path: string): void {
      states.delete(path)
      if (path === shown) shown = null
    },
    mark(marks: readonly Mark[]): void {
      view.dispatch(setDiagnostics(view.state, marks.map(diagnosticOf)))
    },
    goTo(line: number, column = 1): void {
      const at = positionOf(line, column)
      view.dispatch({ selection: { anchor: at }, effects: EditorView.scrollIntoView(at, { y: 'center' }) })
      view.focus()
    },
  }

  function positionOf(line: number, column: number): number {
    const { doc } = view.state
    const found = doc.line(Math.min(Math.max(1, line), doc.lines))
    return Math.min(found.from + Math.max(0, column - 1), found.to)
  }

  function diagnosticOf({ line, column, severity, message }: Mark): Diagnostic {
    const from = positionOf(line, column)
    const { to } = view.state.doc.lineAt(from)
    const word = view.state.wordAt(from)
    return { from, to: word !== null && word.from === from ? word.to : Math.min(from + 1, to), severity, message }
  }
}

export type Editor = ReturnType<typeof createEditor>

function languageOf(path: string): Extension {
  if (/\.(js|ts)$/.test(path)) return javascript({ typescript: path.endsWith('.ts') })
  if (path.endsWith('.json')) return json()
  if (/\.html?$/.test(path)) return html()
  if (path.endsWith('.css')) return css()
  return []
}

/**
 * Adds completions to the editor. In JSON, they replace all others; in scripts, they are added to the language's own.
 */
function withCompletions(path: string, complete: CompletionSource): Extension {
  if (path.endsWith('.json')) return autocompletion({ override: [complete] })
  const extra = EditorState.languageData.of(() => [{ autocomplete: complete }])
  return [autocompletion(), extra]
}

/** After Escape, Tab leaves the editor. By default, CodeMirror does this only if no key binding handles Escape. */
function releaseTab(view: EditorView): boolean {
  view.setTabFocusMode(TAB_RELEASED)
  return false
}

/** Shows the code point of an invisible character. */
function invisibleMark(code: number): HTMLElement {
  const name = `U+${code.toString(16).toUpperCase().padStart(4, '0')}`
  const mark = document.createElement('span')
  mark.className = 'cm-specialChar'
  mark.title = name
  mark.textContent = code < 0x20 ? String.fromCharCode(0x2400 + code) : name
  mark.setAttribute('aria-label', name)
  return mark
}
