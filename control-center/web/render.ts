import { readFileSync } from 'node:fs'
import { SHARED_PAGES, sharedStyles } from '../../base/web/pages.ts'
import { createPageRenderer, indent, loadTemplates, type PageFrame } from '../../base/web/render-page.ts'
import { readTextTables, SHARED_TEXTS } from '../../base/web/texts.ts'
import type { Right } from '../access/roles.ts'

/** The texts of the control center's pages: the shared ones and its own. */
export const CENTER_TEXTS = readTextTables([SHARED_TEXTS, new URL('texts/', import.meta.url)])

const templates = loadTemplates([SHARED_PAGES, new URL('pages/', import.meta.url)])
const ownStyles = ['center', 'rollouts', 'packages', 'telemetry', 'accounts', 'login-designer']
  .map((name) => readFileSync(new URL(`styles/${name}.css`, import.meta.url), 'utf8'))
  .join('')
const sharedParts = sharedStyles('tokens', 'fields', 'pages', 'admin', 'admin-operation', 'chart')
const render = createPageRenderer(templates, CENTER_TEXTS, `${sharedParts}\n${indent(ownStyles)}`, 'center/')

/** The navigation of an organisation, in this order: the address below `/o/{name}/`, and the right to see it. */
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
  'api-tokens': { path: 'access-tokens', right: 'api-tokens' },
  audit: { path: 'activity', right: 'audit' },
} as const satisfies Record<string, { readonly path: string; readonly right: Right }>

export type CenterPart = keyof typeof CENTER_PARTS

export type CenterFrame = PageFrame & {
  /** Sent by the page's script with API requests; null if nobody is signed in. */
  readonly csrfToken: string | null
  /** Null: none. */
  readonly part: CenterPart | null
  readonly script: string
  /** The URL of the guide that explains the page; null: none. */
  readonly guide: string | null
  /** The user who is signed in; null: nobody. */
  readonly person: string | null
  /** The page's organisation, with the parts of it that this user may see; null: none. */
  readonly organisation: { readonly name: string; readonly title: string; readonly parts: readonly CenterPart[] } | null
}

/**
 * @param template one of `pages/center/` or of the shared ones, without its extension
 * @param heading in the reader's language
 */
export function centerPage(template: string, frame: CenterFrame, heading: string, model: object): string {
  const { csrfToken, part, script, guide, person, organisation } = frame
  const parts = (organisation?.parts ?? []).map(
    (name) => [name, `/o/${organisation?.name}/${CENTER_PARTS[name].path}`] as const,
  )
  const service = { texts: 'center', root: '', script, csrfToken, part, parts, guide, person, organisation } as const
  return render(template, { ...frame, title: `${heading} · Solhost control center` }, heading, model, { service })
}
