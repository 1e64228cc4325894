import type { Context } from 'koa'
import type { Mail } from '../../base/mail/mail.ts'
import { PLATFORM_LOCALES } from '../../base/web/texts.ts'
import type { Access, Member } from '../access/access.ts'
import { ofSolution } from '../access/of-solution.ts'
import { mayDo } from '../access/roles.ts'
import { type SolutionTab, tabsOf } from '../login-pages/pages.ts'
import { localeOf, type PageRouter } from '../pages/page.ts'
import type { KnownSolutions } from './known-solutions.ts'
import type { SolutionRoles } from './roles.ts'
import { SolutionUserQuery } from './schemas.ts'
import type { SolutionUsers } from './solution-users.ts'
import type { SolutionUser } from './user-rows.ts'

export type SolutionUserPageParts = {
  readonly access: Access
  readonly knownSolutions: KnownSolutions
  readonly solutionUsers: SolutionUsers
  readonly solutionRoles: SolutionRoles
  readonly mail: Mail
}

const PAGE = 50

export function addSolutionUserPages(pages: PageRouter, parts: SolutionUserPageParts): void {
  const { access, knownSolutions, solutionUsers, solutionRoles, mail } = parts
  const one = '/solutions/:solution'

  pages.ofOrganisation('/solutions', 'read', async (_ctx, text, { organisation, role }) => {
    const [seesUsers, seesPage] = [mayDo(role, 'solution-users'), mayDo(role, 'login-pages')]
    const items = (await knownSolutions.list(organisation.id)).map((solution) => {
      const base = `/o/${organisation.name}/solutions/${solution.name}`
      const href = seesUsers ? `${base}/users` : seesPage ? `${base}/login-page` : null
      return { ...solution, href }
    })
    return {
      template: 'solutions',
      heading: text('center.part.solutions'),
      part: 'solutions' as const,
      model: { items, seesUsers, mayAdd: seesUsers || seesPage, organisation: organisation.name },
    }
  })

  pages.ofOrganisation(`${one}/users`, 'solution-users', async (ctx, _text, member) => {
    const frame = await frameOf(ctx, member, 'users')
    const asked = SolutionUserQuery.catch({ limit: PAGE }).parse({ ...ctx.query, limit: PAGE })
    const { items, next } = await solutionUsers.list(frame.place, asked)
    const href = (more: Record<string, string>) => {
      const query = new URLSearchParams({ ...(asked.search ? { search: asked.search } : {}), ...more })
      return `${frame.base}/users${query.size > 0 ? `?${query}` : ''}`
    }
    return {
      template: 'solution-users',
      ...frame.page,
      model: {
        ...frame.model,
        search: asked.search ?? '',
        users: items.map((user) => ({ ...user, stateKey: stateOf(user), roles: user.roles })),
        firstHref: asked.after === undefined ? null : href({}),
        nextHref: next === undefined ? null : href({ after: next }),
      },
    }
  })

  pages.ofOrganisation(`${one}/users/new`, 'solution-users', async (ctx, text, member) => {
    const frame = await frameOf(ctx, member, 'users')
    return {
      template: 'solution-user-new',
      ...frame.page,
      heading: text('solutions.users.new'),
      model: { ...frame.model, ...(await choices(ctx, frame.place)), user: null },
    }
  })

  pages.ofOrganisation(`${one}/users/:uid`, 'solution-users', async (ctx, _text, member) => {
    const frame = await frameOf(ctx, member, 'users')
    const user = await solutionUsers.need(frame.place, frame.uid)
    return {
      template: 'solution-user',
      ...frame.page,
      heading: user.username,
      model: {
        ...frame.model,
        ...(await choices(ctx, frame.place)),
        user: { ...user, stateKey: stateOf(user) },
        path: `${frame.model.api}/users/${user.uid}`,
      },
    }
  })

  pages.ofOrganisation(`${one}/roles`, 'solution-users', async (ctx, _text, member) => {
    const frame = await frameOf(ctx, member, 'roles')
    return {
      template: 'solution-roles',
      ...frame.page,
      model: { ...frame.model, roles: await solutionRoles.list(frame.place) },
    }
  })

  async function frameOf(ctx: Context, member: Member, tab: SolutionTab) {
    const { place, uid } = await ofSolution(ctx, access, 'solution-users')
    const base = `/o/${member.organisation.name}/solutions/${place.solution}`
    const tabs = tabsOf(base, tab, true, mayDo(member.role, 'login-pages'))
    const api = `/api/organisations/${member.organisation.name}/solutions/${place.solution}`
    return {
      place,
      uid,
      base,
      page: { heading: place.solution, part: 'solutions' as const },
      model: { tabs, base, api, solution: place.solution, sendsMail: mail.isSetUp },
    }
  }

  async function choices(ctx: Context, place: { organisation: string; solution: string }) {
    const names = new Intl.DisplayNames([localeOf(ctx)], { type: 'language' })
    return {
      roles: (await solutionRoles.list(place)).map(({ name }) => name),
      locales: PLATFORM_LOCALES.map((locale) => [locale, names.of(locale) ?? locale]),
      ownLocale: localeOf(ctx),
    }
  }
}

/** Shows users as invited if they have not chosen a password yet. */
function stateOf({ enabled, passwordChangedAt, mustVerifyEmail, emailVerifiedAt }: SolutionUser) {
  if (!enabled) return 'disabled'
  if (passwordChangedAt === null) return 'invited'
  return mustVerifyEmail && emailVerifiedAt === null ? 'unverified' : 'enabled'
}
