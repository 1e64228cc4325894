import { isSure } from '../../../base/web/scripts/question.ts'
import { say } from '../../../base/web/scripts/said.ts'
import { callHost, filePath, type HostProblem } from './call-host.ts'
import { completionsFor } from './completions.ts'
import { type Chosen, hideConflict, showConflict } from './conflict-view.ts'
import { createEditor } from './editor.ts'
import { changeFiles } from './file-actions.ts'
import { type ListedFile, showTree } from './file-tree.ts'
import { abandonedTexts, forgetText, type KeptText, keepText, markPageOpen } from './kept-texts.ts'
import { elementOf, pageData, partOf, wordsFor } from './page-data.ts'
import { reloadHead } from './page-head.ts'
import { createPreviewPanel } from './preview-panel.ts'
import { type Checked, errorsByFile, marksOf, showProblems } from './problems.ts'
import { createPublishPanel } from './publish-panel.ts'
import { createSaving, type HostText, type OpenText } from './saving.ts'
import { showSaveState } from './state-line.ts'
import { createTryPanel } from './try-panel.ts'

type DraftState = {
  readonly files: readonly ListedFile[]
  readonly removed: readonly string[]
  readonly revision: number
}
type FileContent = { readonly etag: string; readonly text: string | null; readonly bytes: number }

/** How long after the last keystroke the draft is checked, in ms. */
const CHECK_AFTER = 800

let draft: DraftState = { files: [], removed: [], revision: 0 }
let shownPath: string | null = null
let checked: Checked = { faults: [], warnings: [] }
let checkTimer: ReturnType<typeof setTimeout> | undefined
let checkNumber = 0
/** Resolves when no check is in progress. */
let checking: Promise<unknown> = Promise.resolve()
/** The host's text of each file that has an unresolved conflict, by path. */
const conflicts = new Map<string, HostText>()
/** Unsaved texts from earlier page loads that are not restored yet. A conflict in the same file is resolved first. */
let leftBehind: readonly KeptText[] = []

const saving = createSaving({
  put: (path, text, etag, keepalive) => callHost('PUT', filePath(path), { body: { text }, etag, keepalive }),
  read: readText,
  keep: ({ path, etag, text, sent }) => void keepText({ draft: pageData.draft, path, etag, text, sent }).catch(noStore),
  forget: ({ path }) => void forgetText(pageData.draft, path).catch(noStore),
  changed: () => showSaveState([...saving.texts.values()]),
  conflict(one, theirs) {
    conflicts.set(one.path, theirs)
    if (one.path === shownPath) showOwnConflict(one)
    else void openFile(one.path)
  },
})

const editor = createEditor({
  place: partOf('editor'),
  label: (path) => wordsFor('editor.label', path),
  complete: completionsFor,
  edited(path, text) {
    const one = saving.texts.get(path)
    if (one === undefined) return
    saving.edit(one, text)
    publishPanel.edited()
    checkLater()
  },
  save: () => void saveShown(),
  nextFile() {
    const next = checked.faults.find(({ file }) => file !== undefined && file !== shownPath)
    if (next?.file === undefined) return false
    void goTo(next.file, next.line ?? 1, next.column ?? 1)
    return true
  },
})

const saveAll = () => saving.saveAll()
const publishPanel = createPublishPanel({ saveAll, reload: reloadDraft })
const previewPanel = createPreviewPanel(saveAll)
createTryPanel({ saveAll, goTo: (file, line, column) => void goTo(file, line, column) })

void start()

async function start(): Promise<void> {
  markPageOpen()
  takeOverActions()
  await loadDraft()
  const { file, line } = pageData
  if (isListed(file)) await openFile(file)
  if (line !== null && shownPath === file) editor.goTo(line)
  await resumeTexts()
  check()
}

function isListed(path: string | null): boolean {
  return draft.files.some((one) => one.path === path)
}

async function loadDraft(): Promise<boolean> {
  const answer = await callHost<DraftState>('GET', '')
  if (!answer.ok) {
    showRefusal(answer.problem)
    return false
  }
  draft = answer.body
  showFiles()
  void publishPanel.loaded(draft.revision)
  return true
}

/** Loads everything again after the draft has changed on the host, for example after a rebase. */
async function reloadDraft(): Promise<void> {
  const [isLoaded] = await Promise.all([loadDraft(), reloadHead()])
  if (!isLoaded) return
  for (const one of [...saving.texts.values()]) {
    const listed = draft.files.find(({ path }) => path === one.path)
    if (one.state !== 'saved' || listed?.etag === one.etag) continue
    saving.close(one.path)
    editor.forget(one.path)
  }
  if (shownPath !== null && !saving.texts.has(shownPath)) await openFile(isListed(shownPath) ? shownPath : null)
  check()
}

function showFiles(): void {
  const open = (path: string) => void openFile(path, true)
  showTree({ ...draft, shown: shownPath, errors: errorsByFile(checked), open })
}

async function readText(path: string): Promise<HostText | undefined> {
  const answer = await callHost<FileContent>('GET', filePath(path))
  if (answer.ok) return answer.body.text === null ? undefined : { etag: answer.body.etag, text: answer.body.text }
  return answer.problem.code === 'ERR_FILE_NOT_FOUND' ? null : undefined
}

/** @param path null if no file is shown */
async function openFile(path: string | null, isFocused = false): Promise<void> {
  shownPath = path
  partOf('path').textContent = path ?? ''
  hideConflict()
  if (path === null) {
    partOf('editor').hidden = true
    return showFiles()
  }
  const one = saving.texts.get(path) ?? (await loadFile(path))
  if (shownPath !== path) return
  partOf('editor').hidden = one === null
  partOf('binary').hidden = one !== null
  if (one !== null) {
    editor.show(path, one.text)
    editor.mark(marksOf(checked, path))
    if (conflicts.has(path)) showOwnConflict(one)
    else if (isFocused) editor.view.focus()
  }
  const address = new URL(location.href)
  address.searchParams.set('file', path)
  address.searchParams.delete('line')
  // Use `window.history`, because the editor's imports include a function named `history`.
  window.history.replaceState(null, '', address)
  showFiles()
}

/** @returns null if the file is not text or can't be loaded */
async function loadFile(path: string): Promise<OpenText | null> {
  const answer = await callHost<FileContent>('GET', filePath(path))
  if (!answer.ok) {
    showRefusal(answer.problem)
    return null
  }
  const { etag, text, bytes } = answer.body
  if (text === null) partOf('binary').textContent = wordsFor('binary', path, bytes)
  return text === null ? null : saving.open(path, etag, text)
}

async function goTo(file: string, line: number, column: number): Promise<void> {
  if (file !== shownPath && isListed(file)) await openFile(file)
  if (file === shownPath) editor.goTo(line, column)
}

/** Restores texts that an earlier page stored in the browser because the host had not confirmed them. */
async function resumeTexts(): Promise<void> {
  leftBehind = await abandonedTexts(pageData.draft).catch(() => [])
  await resumeNext()
}

async function resumeNext(): Promise<void> {
  const waiting = leftBehind
  leftBehind = []
  for (const kept of waiting) {
    if (conflicts.has(kept.path)) {
      leftBehind = [...leftBehind, kept]
      continue
    }
    const one = saving.texts.get(kept.path) ?? (isListed(kept.path) ? await loadFile(kept.path) : null)
    const resumed = one ?? saving.open(kept.path, null, '')
    if (resumed.state !== 'saved') await saving.save(resumed)
    const isSame = resumed.text === kept.text
    if (!isSame) {
      saving.resume(resumed, kept)
      if (kept.path === shownPath && !conflicts.has(kept.path)) editor.replace(kept.path, kept.text)
      say(wordsFor('resumed', kept.path))
    }
    // The text is now stored as an entry of this page, so remove the earlier page's entry.
    await forgetText(pageData.draft, kept.path, kept.page)
  }
}

function showOwnConflict(one: OpenText): void {
  const theirs = conflicts.get(one.path)
  if (theirs === undefined) return
  partOf('editor').hidden = true
  const texts = {
    path: one.path,
    mine: one.text,
    theirs: theirs?.text ?? null,
    mineTitle: wordsFor('conflict.mine.title'),
    theirsTitle: wordsFor('conflict.theirs.title'),
  }
  showConflict(
    texts,
    editor.view.state.selection.main.head,
    (chosen) => void settleConflict(one, theirs, chosen),
    (text) => saving.edit(one, text),
  )
}

async function settleConflict(one: OpenText, theirs: HostText, { side, text }: Chosen): Promise<void> {
  conflicts.delete(one.path)
  hideConflict()
  if (side === 'theirs' && theirs === null) {
    saving.close(one.path)
    editor.forget(one.path)
    await reloadDraft()
  } else {
    await saving.settle(one, theirs, side === 'theirs' ? (theirs?.text ?? '') : (text ?? ''))
    editor.replace(one.path, one.text)
    await loadDraft()
    await openFile(one.path, true)
  }
  await resumeNext()
}

function checkLater(): void {
  clearTimeout(checkTimer)
  checkTimer = setTimeout(check, CHECK_AFTER)
}

/** Starts a check. The results of earlier checks are then ignored. */
function check(): void {
  clearTimeout(checkTimer)
  checking = Promise.all([checking, checkSaved(++checkNumber)])
}

/** Checks the draft as it is stored on the host, so it saves first. */
async function checkSaved(number: number): Promise<void> {
  const isSaved = await saveAll()
  if (number !== checkNumber || !isSaved) return
  const answer = await callHost<Checked>('POST', '/check')
  if (number !== checkNumber || !answer.ok) return
  checked = answer.body
  showProblems(checked, (file, line, column) => void goTo(file, line, column))
  if (shownPath !== null) editor.mark(marksOf(checked, shownPath))
  await loadDraft()
}

async function saveShown(): Promise<void> {
  const isSaved = await saveAll()
  say(wordsFor(isSaved ? 'saved' : 'publish.unsaved'))
  if (isSaved) check()
}

function takeOverActions(): void {
  for (const place of ['actions', 'list-actions', 'file-actions']) partOf(place).hidden = false
  partOf('save').addEventListener('click', () => void saveShown())
  partOf('discard').addEventListener('click', () => void discard())
  for (const [name, panel] of Object.entries({ publish: publishPanel, preview: previewPanel, try: null })) {
    partOf(`${name}-open`).addEventListener('click', () => {
      partOf(name).hidden = false
      partOf(`${name}-title`).focus()
      void panel?.show()
    })
  }
  changeFiles({
    shown: () => shownPath,
    etagOf: (path) => draft.files.find((one) => one.path === path)?.etag ?? null,
    isListed,
    saveAll,
    async changed(gone, open) {
      if (gone !== null) {
        saving.close(gone)
        editor.forget(gone)
      }
      await loadDraft()
      await openFile(open !== null && isListed(open) ? open : null, true)
      check()
    },
    refused: showRefusal,
  })
  addEventListener('pagehide', () => saving.leave())
  addEventListener('focus', () => saving.retry())
  addEventListener('online', () => saving.retry())
}

async function discard(): Promise<void> {
  if (!(await isSure(wordsFor('discard.sure')))) return
  // Wait for pending requests, so that none arrives after the draft is deleted.
  clearTimeout(checkTimer)
  checkNumber++
  await Promise.all([checking, saveAll()])
  const answer = await callHost('DELETE', '')
  if (!answer.ok) return showRefusal(answer.problem)
  for (const path of [...saving.texts.keys()]) saving.close(path)
  location.assign(pageData.page.replace(/\?.*$/, ''))
}

function showRefusal({ status, detail }: HostProblem): void {
  const text = status === 0 ? wordsFor('unreachable') : (detail ?? wordsFor('failed', status))
  partOf('refusal').replaceChildren(elementOf('p', text, { class: 'notice notice-warn' }))
}

/** Shows that this browser can't store texts, for example in a private window. The page still saves to the host. */
function noStore(): void {
  partOf('store').hidden = false
}
