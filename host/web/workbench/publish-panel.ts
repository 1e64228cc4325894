import { faultList } from '../../../base/web/scripts/problem.ts'
import { callHost, filePath, type HostProblem } from './call-host.ts'
import { bothTexts } from './conflict-view.ts'
import { type Difference, showDifference } from './difference-view.ts'
import { buttonOf, clockText, elementOf, pageData, partOf, wordsFor } from './page-data.ts'

export type PublishParts = {
  /** Saves all files. @returns false if one can't be saved now */
  readonly saveAll: () => Promise<boolean>
  /** Loads the draft again, after its base or files have changed. */
  readonly reload: () => Promise<void>
}

type Version = { readonly sha256: string; readonly version: string }
type DraftDifference = Difference & { readonly from: string | null; readonly revision: number }
type DraftState = { readonly active: Version | null; readonly nextVersion: string }
type Published = { readonly sha256: string; readonly version: string }
type Rebased = {
  readonly isDone: boolean
  readonly conflicts: readonly { readonly path: string; readonly draft: string | null; readonly onto: string | null }[]
}
type Choices = Readonly<Record<string, 'draft' | 'onto'>>

/** Maximum number of polls until the published version is active. */
const ASK_ACTIVE = 20
/** Interval between the polls, in ms. */
const ASK_AGAIN = 500

/** Shows the diff against the active version, publishes the draft, and rebases it if another version is active. */
export function createPublishPanel({ saveAll, reload }: PublishParts) {
  const said = partOf('publish-said')
  const version = partOf<HTMLInputElement>('publish-version')
  const button = createPublishButton(publish)
  const rebasing = partOf('rebase')
  /** The SHA-256 of the active version that the shown diff compares with; null if no version was active. */
  let over: string | null = null
  /** The draft's revision in the shown diff; null until the panel was opened. */
  let revision: number | null = null

  async function show(): Promise<void> {
    say('')
    rebasing.replaceChildren()
    if (!(await saveAll())) return say(wordsFor('publish.unsaved'), true)
    const [draft, difference] = await Promise.all([callHost<DraftState>('GET', ''), readDifference()])
    if (!draft.ok) return refused(draft.problem)
    if (!difference.ok) return refused(difference.problem)
    over = difference.body.from
    version.value = draft.body.nextVersion
    shown(difference.body)
  }

  function shown(difference: DraftDifference): void {
    revision = difference.revision
    showDifference(partOf('publish-diff'), difference)
    button.set({ isLoaded: true, isSame: difference.files.length === 0 })
  }

  /** Called after a keystroke, before the text is saved. */
  function edited(): void {
    button.set({ isSame: false })
  }

  /** Called after the draft was loaded. Updates the diff if it shows an earlier revision. */
  async function loaded(current: number): Promise<void> {
    if (revision === null || revision === current || button.isRunning()) return
    const answer = await readDifference()
    if (!answer.ok || answer.body.revision < revision || button.isRunning()) return
    // If another version is active now, keep the old `over`. The host then refuses to publish until the author rebases.
    if (answer.body.from === over) shown(answer.body)
    else edited()
  }

  async function publish(): Promise<void> {
    say(wordsFor('publish.running'))
    if (!(await saveAll())) return say(wordsFor('publish.unsaved'), true)
    const answer = await callHost<Published>('POST', '/publish', { body: { over, version: version.value.trim() } })
    if (!answer.ok) return refused(answer.problem)
    await published(answer.body)
  }

  /** Reports success only once the version is active: an accepted request alone is not enough. */
  async function published({ sha256, version: name }: Published): Promise<void> {
    for (let asked = 0; asked < ASK_ACTIVE; asked++) {
      const answer = await callHost<DraftState>('GET', '')
      const active = answer.ok ? (answer.body.active?.sha256 ?? null) : over
      if (active === sha256) {
        await reload()
        await show()
        say(wordsFor('publish.done', name, sha256.slice(0, 12)))
        const link = { href: pageData.address, target: '_blank', rel: 'noopener' }
        said.append(elementOf('p', [elementOf('a', wordsFor('publish.open'), link)]))
        return
      }
      // Another version has replaced the published one, so it won't become active.
      if (active !== over) break
      await new Promise((resolve) => setTimeout(resolve, ASK_AGAIN))
    }
    say(wordsFor('publish.unknown'), true)
  }

  function refused(problem: HostProblem): void {
    const { status, detail, faults = [] } = problem
    if (problem.code === 'ERR_CHANGED_MEANWHILE' && problem.active !== undefined) {
      offerRebase(problem)
      return
    }
    say(status === 0 ? wordsFor('unreachable') : (detail ?? wordsFor('failed', status)), true)
    if (faults.length > 0) said.append(faultList(faults))
  }

  function offerRebase({ active, version: name = '', activatedAt, activatedBy = '' }: HostProblem): void {
    const when = activatedAt === undefined ? '' : clockText(activatedAt)
    say(wordsFor('publish.meanwhile', name, activatedBy, when), true)
    if (!active) return
    rebasing.replaceChildren(buttonOf(wordsFor('rebase.button', name), () => void rebase(active, {}), ''))
  }

  async function rebase(onto: string, choices: Choices): Promise<void> {
    const answer = await callHost<Rebased>('POST', '/rebase', { body: { onto, choices } })
    if (!answer.ok) return refused(answer.problem)
    if (answer.body.isDone) {
      await reload()
      await show()
      return say(wordsFor('rebase.done'))
    }
    await showConflicts(onto, choices, answer.body.conflicts)
  }

  /**
   * Shows the files that changed on both sides, one at a time, and continues once the user has chosen a side for each.
   */
  async function showConflicts(onto: string, choices: Choices, conflicts: Rebased['conflicts']): Promise<void> {
    const open = conflicts.filter(({ path }) => !Object.hasOwn(choices, path))
    const [first] = open
    if (first === undefined) return rebase(onto, choices)
    say(wordsFor('rebase.conflicts', open.length), true)
    const [mine, theirs] = await Promise.all([textIn(first.path, 'draft'), textIn(first.path, 'active')])
    const texts = {
      path: first.path,
      mine,
      theirs,
      mineTitle: wordsFor('rebase.mine'),
      theirsTitle: wordsFor('rebase.theirs'),
    }
    const view = bothTexts(texts, async ({ side, text }) => {
      // Save the merged text in the draft, because the rebase then uses the draft's text.
      if (side === 'mine' && text !== null && text !== mine) {
        const saved = await callHost('PUT', filePath(first.path), { body: { text }, etag: first.draft })
        if (!saved.ok) return refused(saved.problem)
      }
      await showConflicts(onto, { ...choices, [first.path]: side === 'mine' ? 'draft' : 'onto' }, conflicts)
    })
    rebasing.replaceChildren(view)
    view.querySelector<HTMLElement>('textarea')?.focus()
  }

  function say(text: string, isBad = false): void {
    said.className = text === '' ? '' : isBad ? 'notice notice-warn' : 'notice'
    said.replaceChildren(elementOf('p', text))
  }

  return { show, edited, loaded }
}

/** The button that publishes. It is disabled while a publication runs, and if there is nothing to publish. */
function createPublishButton(publish: () => Promise<void>) {
  const button = partOf('publish-button')
  const state = { isLoaded: false, isSame: false, isRunning: false }

  /** Updates the button. A disabled button stays focusable, so screen readers can read why it is disabled. */
  function set(changed: Partial<typeof state>): void {
    Object.assign(state, changed)
    const { isLoaded, isSame, isRunning } = state
    partOf('publish-same').textContent = isSame ? wordsFor('publish.same') : ''
    if (isLoaded && !isSame && !isRunning) button.removeAttribute('aria-disabled')
    else button.setAttribute('aria-disabled', 'true')
  }

  async function run(): Promise<void> {
    if (button.getAttribute('aria-disabled') === 'true') return
    set({ isRunning: true })
    await publish().finally(() => set({ isRunning: false }))
  }

  button.addEventListener('click', () => void run())
  return { set, isRunning: () => state.isRunning }
}

function readDifference() {
  return callHost<DraftDifference>('GET', '/diff?against=active')
}

async function textIn(path: string, of: 'draft' | 'active'): Promise<string | null> {
  const answer = await callHost<{ text: string | null }>('GET', `${filePath(path)}?of=${of}`)
  return answer.ok ? answer.body.text : null
}
