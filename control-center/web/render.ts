import { readFileSync } from 'node:fs'
import { SHARED_PAGES, sharedStyles } from '../../base/web/pages.ts'
import { type Brand, createPageRenderer, indent, loadTemplates, type PageFrame } from '../../base/web/render-page.ts'
import { readTextTables, SHARED_TEXTS } from '../../base/web/texts.ts'
import type { Right } from '../access/roles.ts'

/** The texts on the control center's pages, including texts that other pages use too. */
export const CENTER_TEXTS = readTextTables([SHARED_TEXTS, new URL('texts/', import.meta.url)])

const templates = loadTemplates([SHARED_PAGES, new URL('pages/', import.meta.url)])
const ownStyles = ['center', 'rollouts', 'packages', 'telemetry', 'accounts', 'login-designer', 'start']
  .map((name) => readFileSync(new URL(`styles/${name}.css`, import.meta.url), 'utf8'))
  .join('')
const sharedParts = sharedStyles('tokens', 'fields', 'pages', 'admin', 'admin-operation', 'chart')
const render = createPageRenderer(templates, CENTER_TEXTS, `${sharedParts}\n${indent(ownStyles)}`, 'center/')

/**
 * The pages in an organisation's navigation. Each has the path below `/o/{name}` and the permission required to see the
 * page.
 */
export const CENTER_PARTS = {
  start: { path: '', right: 'read' },
  environments: { path: '/environments', right: 'read' },
  packages: { path: '/packages', right: 'read' },
  pipelines: { path: '/pipelines', right: 'read' },
  rollouts: { path: '/rollouts', right: 'read' },
  solutions: { path: '/solutions', right: 'read' },
  analysis: { path: '/analysis', right: 'read' },
  logs: { path: '/logs', right: 'read' },
  credentials: { path: '/credentials', right: 'credentials' },
  members: { path: '/members', right: 'members' },
  'api-tokens': { path: '/access-tokens', right: 'api-tokens' },
  audit: { path: '/activity', right: 'audit' },
} as const satisfies Record<string, { readonly path: string; readonly right: Right }>

export type CenterPart = keyof typeof CENTER_PARTS

/** The navigation's groups, in display order. */
const CENTER_GROUPS: readonly { readonly name: string | null; readonly parts: readonly CenterPart[] }[] = [
  { name: null, parts: ['start'] },
  { name: 'deployment', parts: ['environments', 'packages', 'pipelines', 'rollouts'] },
  { name: 'sign-in', parts: ['solutions'] },
  { name: 'monitoring', parts: ['analysis', 'logs'] },
  { name: 'organisation', parts: ['credentials', 'members', 'api-tokens', 'audit'] },
]

export type CenterFrame = PageFrame & {
  /** The CSRF token that the page's script sends with API requests; null if no user is signed in. */
  readonly csrfToken: string | null
  /** Null if the page is not in the navigation. */
  readonly part: CenterPart | null
  readonly script: string
  /** The URL of the guide that explains the page, or null. */
  readonly guide: string | null
  /** Replaces the control center's header on pages for users of solutions; null to keep it. */
  readonly brand: Brand | null
  /** The user who is signed in, or null. */
  readonly person: string | null
  /**
   * The page's organisation, including only the parts that this user may see. Null for pages outside any organisation.
   */
  readonly organisation: { readonly name: string; readonly title: string; readonly parts: readonly CenterPart[] } | null
}

/**
 * @param template the template's name, without extension; either from `pages/center/` or a shared template
 * @param heading in the reader's language
 */
export function centerPage(template: string, frame: CenterFrame, heading: string, model: object): string {
  const { csrfToken, part, script, guide, brand, person, organisation } = frame
  const home = organisation === null ? '/' : `/o/${organisation.name}`
  const groups = CENTER_GROUPS.map(({ name, parts }) => {
    const allowed = parts.filter((one) => organisation?.parts.includes(one))
    return { name, parts: allowed.map((one) => [one, `${home}${CENTER_PARTS[one].path}`] as const) }
  }).filter(({ parts }) => parts.length > 0)
  const service = {
    texts: 'center',
    root: '',
    home,
    script,
    csrfToken,
    part,
    groups,
    guide,
    brand,
    person,
    organisation,
  } as const
  return render(
    template,
    { ...frame, title: `${heading} · ${brand?.name ?? 'Solhost control center'}` },
    heading,
    model,
    { service },
  )
}
