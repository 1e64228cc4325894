import type { Layer } from '@koa/router'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { centerApi, describeCenterApi } from '../../control-center/api.ts'
import { centerPages } from '../../control-center/pages.ts'
import { describeSatelliteApi, satelliteApi } from '../../control-center/satellite-api.ts'
import { NAVIGATION } from '../support/admin.ts'
import { signInToCenter, startTestCenter, type TestCenter } from '../support/center.ts'
import { ask } from '../support/http.ts'

type Document = {
  readonly paths: Record<string, Record<string, { readonly parameters?: readonly Parameter[] }>>
  readonly components: { readonly schemas: object }
}
type Parameter = { readonly name: string; readonly in: string }
type Route = { readonly method: string; readonly path: string }

const METHODS = ['get', 'put', 'post', 'patch', 'delete']
const DESCRIPTION = /\/openapi\.json$/

let center: TestCenter
let stranger: string
let viewer: string
beforeAll(async () => {
  center = await startTestCenter()
  await center.parts.organisations.create({ name: 'other', title: 'Other' }, await center.account('b@example.org'))
  stranger = await center.tokenOf('owner', 'other')
  viewer = await center.tokenOf('viewer')
})
afterAll(() => center?.stop())

function routesOf(layers: readonly Layer[]): Route[] {
  return layers
    .flatMap(({ path, methods }) => methods.map((method) => ({ path: String(path), method })))
    .filter(({ method }) => method !== 'HEAD')
}

/** Fills in the parameters of the route's path. */
function addressOf(path: string): string {
  return path.replace(':organisation', 'acme').replaceAll(/:\w+/g, 'some-name')
}

function askAs(token: string | null, { method, path }: Route) {
  const headers = token === null ? {} : { authorization: `Bearer ${token}` }
  return ask(`${center.url}${addressOf(path)}`, { method, headers })
}

const written = ({ method, path }: Route) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`

/** Calls `check` for each route, except for the API description, which is public. @returns the results by route */
async function each<T>(routes: readonly Route[], check: (route: Route) => Promise<T>): Promise<Record<string, T>> {
  const answers: Record<string, T> = {}
  for (const route of routes) {
    if (!DESCRIPTION.test(route.path)) answers[written(route)] = await check(route)
  }
  return answers
}

/** @returns routes that responded with a status other than `expected` */
function others(answers: Record<string, number>, ...expected: readonly number[]) {
  return Object.entries(answers).filter(([, status]) => !expected.includes(status))
}

describe.each([
  ['the API', () => centerApi(center.parts).stack, describeCenterApi('test')],
  ['the API for Satellites', () => satelliteApi(center.parts).stack, describeSatelliteApi('test')],
] as const)('OpenAPI of %s', (_name, stack, described) => {
  const document = described as Document

  test('the OpenAPI document describes exactly the routes that exist', () => {
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      METHODS.filter((method) => Object.hasOwn(item, method)).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const routes = routesOf(stack()).filter(({ path }) => !DESCRIPTION.test(path))
    expect(operations.toSorted()).toEqual(routes.map(written).toSorted())
  })

  test('the OpenAPI document lists the parameters of every path, and defines everything that it refers to', () => {
    for (const [path, item] of Object.entries(document.paths)) {
      const own = (item.parameters ?? []) as unknown as readonly Parameter[]
      const names = own.filter((one) => one.in === 'path').map(({ name }) => `{${name}}`)
      expect([path, names]).toEqual([path, path.match(/\{\w+\}/g) ?? []])
    }
    const referred = JSON.stringify(document).match(/#\/components\/schemas\/\w+/g) ?? []
    const known = Object.keys(document.components.schemas)
    expect(referred.map((ref) => ref.split('/').at(-1) ?? '').filter((name) => !known.includes(name))).toEqual([])
  })
})

describe('every route in the API', () => {
  const routes = () => routesOf(centerApi(center.parts).stack)
  const ofOrganisation = ({ path }: Route) => path.includes('/:organisation')

  test('every API route rejects requests without a sign-in', async () => {
    expect(others(await each(routes(), async (route) => (await askAs(null, route)).status), 401)).toEqual([])
  })

  test('every API route rejects a browser’s session if the request was not sent by our own page', async () => {
    const { cookie } = await signInToCenter(center)
    const foreign = { cookie, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }
    const answers = await each(routes(), async ({ method, path }) => {
      return (await ask(`${center.url}${addressOf(path)}`, { method, headers: foreign })).status
    })
    expect(others(answers, 403)).toEqual([])
  })

  test('every API route in an organisation shows a stranger nothing, not even that the organisation exists', async () => {
    const answers = await each(routes().filter(ofOrganisation), async (route) => (await askAs(stranger, route)).status)
    expect(Object.keys(answers).length).toBeGreaterThan(20)
    expect(others(answers, 404)).toEqual([])
  })

  test('every API route outside of organisations works with a person’s session, but not with a token', async () => {
    const own = routes().filter((route) => !ofOrganisation(route))
    expect(others(await each(own, async (route) => (await askAs(viewer, route)).status), 403)).toEqual([])
  })

  test('every API route that changes something rejects a viewer', async () => {
    const changing = routes().filter((route) => ofOrganisation(route) && route.method !== 'GET')
    expect(others(await each(changing, async (route) => (await askAs(viewer, route)).status), 403)).toEqual([])
  })

  test('every API route rejects an environment’s token', async () => {
    const { token } = await center.environment('walks')
    expect(others(await each(routes(), async (route) => (await askAs(token, route)).status), 401)).toEqual([])
  })
})

test('every route for Satellites requires an environment’s token', async () => {
  const routes = routesOf(satelliteApi(center.parts).stack)
  for (const token of [null, viewer, `ret_${'x'.repeat(43)}`]) {
    expect(others(await each(routes, async (route) => (await askAs(token, route)).status), 401)).toEqual([])
  }
})

test('every page in an organisation redirects visitors without a session to the sign-in', async () => {
  const anonymous = await each(pagesOfOrganisations(), async ({ method, path }) => {
    return (await ask(`${center.url}${addressOf(path)}`, { method, headers: NAVIGATION })).status
  })
  // Requests from a page's scripts, and requests for iframes, are rejected instead of redirected.
  expect(others(anonymous, 302, 401, 403)).toEqual([])
})

test('for a stranger, every page in an organisation responds as if the organisation did not exist', async () => {
  const browser = await signInToCenter(center, 'b@example.org')
  for (const { path } of pagesOfOrganisations()) {
    const { status } = await browser.get(addressOf(path))
    const unknown = await browser.get(addressOf(path.replace(':organisation', 'there-is-none')))
    expect([path, status]).toEqual([path, unknown.status])
    expect([path, [404, 403].includes(status)]).toEqual([path, true])
  }
})

function pagesOfOrganisations(): Route[] {
  const pages = routesOf(centerPages(center.parts).stack).filter(({ path }) => path.startsWith('/o/'))
  expect(pages.length).toBeGreaterThan(5)
  return pages.filter(({ method }) => method === 'GET')
}
