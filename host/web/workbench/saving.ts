/** Why the host did not store a text; the status is 0 if it did not respond. */
export type SaveProblem = { readonly status: number; readonly code?: string; readonly detail?: string }

export type SaveAnswer =
  | { readonly ok: true; readonly body: { readonly etag: string } }
  | { readonly ok: false; readonly problem: SaveProblem }

/** A file of the draft that the page has opened. */
export type OpenText = {
  readonly path: string
  /** The etag of the last content that the host confirmed; null if the host has no such file. */
  etag: string | null
  savedText: string
  text: string
  /** The texts that were sent since the host last confirmed one. The host may have stored any of them. */
  sent: readonly string[]
  state: 'saved' | 'unsaved' | 'saving' | 'conflict' | 'signed-out'
  savedAt: number | null
  /** Why the host refused the text, other than a conflict. */
  problem: SaveProblem | null
  timer: ReturnType<typeof setTimeout> | undefined
  failures: number
  running: Promise<void>
}

/** A file's content on the host; null if it has no such file. */
export type HostText = { readonly etag: string; readonly text: string } | null

export type SavingParts = {
  put(path: string, text: string, etag: string | null, keepalive: boolean): Promise<SaveAnswer>
  /** @returns undefined if the text could not be read */
  read(path: string): Promise<HostText | undefined>
  /** Stores a text in the browser until the host confirms it. */
  keep(one: OpenText): void
  forget(one: OpenText): void
  /** Called when the state of a file has changed. */
  changed(): void
  conflict(one: OpenText, theirs: HostText): void
}

/** How long after the last keystroke a file is saved, in ms. */
const SAVE_AFTER = 1000
/** Maximum number of sent texts that are kept per file, because each may be as large as a script. */
const MOST_SENT = 5
/** Delays before a failed save is retried, in ms. The last one repeats. */
const SAVE_AGAIN = [1000, 2000, 5000, 15_000]

/** Saves the files that the user edits. A file with a conflict is not saved until the user has chosen a text. */
export function createSaving(parts: SavingParts) {
  const texts = new Map<string, OpenText>()

  function open(path: string, etag: string | null, text: string): OpenText {
    const one = openText(path, etag, text)
    texts.set(path, one)
    return one
  }

  function edit(one: OpenText, text: string): void {
    one.text = text
    one.problem = null
    parts.keep(one)
    if (one.state === 'conflict') return
    if (one.state !== 'saving') one.state = 'unsaved'
    later(one, SAVE_AFTER)
    parts.changed()
  }

  function later(one: OpenText, delay: number): void {
    clearTimeout(one.timer)
    one.timer = setTimeout(() => void save(one), delay)
  }

  /** Saves now. @returns whether the host has the text */
  async function save(one: OpenText): Promise<boolean> {
    clearTimeout(one.timer)
    one.running = one.running.then(() => send(one))
    await one.running
    return one.state === 'saved'
  }

  async function send(one: OpenText): Promise<void> {
    if (one.state === 'conflict') return
    if (one.text === one.savedText && one.etag !== null) return settled(one)
    const text = one.text
    one.sent = [...one.sent, text].slice(-MOST_SENT)
    one.state = 'saving'
    parts.keep(one)
    parts.changed()
    const answer = await parts.put(one.path, text, one.etag, false)
    if (answer.ok) confirmed(one, text, answer.body.etag)
    else await failed(one, answer.problem)
    parts.changed()
  }

  function confirmed(one: OpenText, text: string, etag: string | null): void {
    one.etag = etag
    one.savedText = text
    one.sent = []
    one.savedAt = Date.now()
    one.failures = 0
    one.problem = null
    if (one.text === text) {
      settled(one)
      return
    }
    one.state = 'unsaved'
    parts.keep(one)
    later(one, SAVE_AFTER)
  }

  function settled(one: OpenText): void {
    one.state = 'saved'
    parts.forget(one)
    parts.changed()
  }

  async function failed(one: OpenText, problem: SaveProblem): Promise<void> {
    one.state = problem.status === 401 ? 'signed-out' : 'unsaved'
    if (problem.code === 'ERR_CHANGED_MEANWHILE') {
      const theirs = await parts.read(one.path)
      // The host has a text that this page sent, and only the response was lost. So there is no conflict.
      if (theirs && one.sent.includes(theirs.text)) return confirmed(one, theirs.text, theirs.etag)
      if (theirs !== undefined) {
        one.state = 'conflict'
        parts.keep(one)
        return parts.conflict(one, theirs)
      }
    } else if (problem.status >= 400 && problem.status < 500 && ![401, 408, 429].includes(problem.status)) {
      // The host would reject this text again, so save only after the next change.
      one.problem = problem
      return
    }
    later(one, SAVE_AGAIN[Math.min(one.failures++, SAVE_AGAIN.length - 1)] ?? SAVE_AFTER)
  }

  return {
    texts,
    open,
    edit,
    save,
    close(path: string): void {
      const one = texts.get(path)
      if (one === undefined) return
      clearTimeout(one.timer)
      texts.delete(path)
      parts.forget(one)
    },
    /** Restores an unsaved text that an earlier page stored in the browser. */
    resume(one: OpenText, kept: Pick<OpenText, 'etag' | 'text' | 'sent'>): void {
      const theirs = one.etag === null ? null : { etag: one.etag, text: one.savedText }
      one.text = kept.text
      parts.keep(one)
      const isUnchanged = kept.etag === one.etag || [...kept.sent, kept.text].includes(one.savedText)
      one.state = isUnchanged ? 'unsaved' : 'conflict'
      parts.changed()
      if (isUnchanged) void save(one)
      else parts.conflict(one, theirs)
    },
    /** Resolves a conflict with the text that the user chose. */
    settle(one: OpenText, theirs: HostText, text: string): Promise<boolean> {
      one.etag = theirs?.etag ?? null
      one.savedText = theirs?.text ?? ''
      one.text = text
      one.state = 'unsaved'
      return save(one)
    },
    /** Tries again now, for example after the user has signed in again. */
    retry(): void {
      for (const one of texts.values()) if (one.state === 'unsaved' || one.state === 'signed-out') void save(one)
    },
    async saveAll(): Promise<boolean> {
      const saved = await Promise.all([...texts.values()].map((one) => save(one)))
      return saved.every(Boolean)
    },
    /**
     * Call this when the page is closed. Sends unsaved texts; those that can't be sent are already stored in the
     * browser.
     */
    leave(): void {
      for (const one of texts.values()) {
        clearTimeout(one.timer)
        if (one.state === 'unsaved' || one.state === 'signed-out') {
          one.sent = [...one.sent, one.text].slice(-MOST_SENT)
          parts.keep(one)
          void parts.put(one.path, one.text, one.etag, one.text.length < 50_000)
        }
      }
    },
  }
}

function openText(path: string, etag: string | null, text: string): OpenText {
  const nothing = { sent: [], savedAt: null, problem: null, timer: undefined, failures: 0 }
  return { path, etag, savedText: text, text, state: 'saved', running: Promise.resolve(), ...nothing }
}

export type Saving = ReturnType<typeof createSaving>
