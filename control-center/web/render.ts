import { readFileSync } from 'node:fs'
import { createPageRenderer, indent, loadTemplates, type PageFrame } from '../../host/web/render-page.ts'
import { readTextTables } from '../../host/web/texts.ts'
import type { Right } from '../access/roles.ts'

const HOST_WEB = new URL('../../host/web/', import.meta.url)

/** The host's texts, of which the pages use some, and the control center's own. */
export const CENTER_TEXTS = readTextTables([new URL('texts/', HOST_WEB), new URL('texts/', import.meta.url)])

const templates = loadTemplates([new URL('pages/', HOST_WEB), new URL('pages/', import.meta.url)])
const styles = indent(
  [
    ...['tokens', 'fields', 'pages', 'admin', 'admin-operation'].map((name) => new URL(`styles/${name}.css`, HOST_WEB)),
    new URL('styles/center.css', import.meta.url),
    new URL('styles/rollouts.css', import.meta.url),
    new URL('styles/packages.css', import.meta.url),
    new URL('styles/telemetry.css', import.meta.url),
    new URL('styles/accounts.css', import.meta.url),
    new URL('styles/login-designer.css', import.meta.url),
  ]
    .map((file) => readFileSync(file, 'utf8'))
    .join(''),
)
const render = createPageRenderer(templates, CENTER_TEXTS, styles)

/** The navigation below an organisation, in its order: the address below `/o/{name}/`, and who sees it. */
export const CENTER_PARTS = {
  environments: { path: 'environments', right: 'read' },
  packages: { path: 'packages', right: 'read' },
  pipelines: { path: 'pipelines', right: 'read' },
  rollouts: { path: 'rollouts', right: 'read' },
  solutions: { path: 'solutions', right: 'read' },
  analysis: { path: 'analysis', right: 'read' },
  logs: { path: 'logs', right: 'read' },
  credentials: { path: 'credentials', right: 'credentials' },
  members: { path: 'members', right: 'members' },
  'access-tokens': { path: 'access-tokens', right: 'access-tokens' },
  activity: { path: 'activity', right: 'activity' },
} as const satisfies Record<string, { readonly path: string; readonly right: Right }>

export type CenterPart = keyof typeof CENTER_PARTS

export type CenterFrame = PageFrame & {
  /** What the page's script sends along with requests to the API; null where nobody is signed in. */
  readonly csrfToken: string | null
  /** Null: none. */
  readonly part: CenterPart | null
  /** The address of the page's script. */
  readonly script: string
  /** Who is signed in; null: nobody. */
  readonly person: string | null
  /** The organisation that the page is about, with the parts of it that this person sees; null: none. */
  readonly organisation: { readonly name: string; readonly title: string; readonly parts: readonly CenterPart[] } | null
}

/**
 * A page of the control center.
 * @param template one of `pages/center/`, without its ending
 * @param heading in the reader's language
 */
export function centerPage(template: string, frame: CenterFrame, heading: string, model: object): string {
  const { csrfToken, part, script, person, organisation } = frame
  const parts = organisation?.parts.map((name) => [name, `/o/${organisation.name}/${CENTER_PARTS[name].path}`])
  const center = { csrfToken, part, script, person, organisation, parts: parts ?? [] }
  return render(`center/${template}`, { ...frame, title: `${heading} · Solhost control center` }, heading, model, {
    center,
  })
}
