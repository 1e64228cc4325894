import type { Layer } from '@koa/router'
import { expect, test } from 'vitest'
import { type AdminApiParts, adminApi, describeAdminApi } from '../../host/api.ts'
import { createLimits } from '../../runtime/limits.ts'

type Operation = { readonly requestBody?: object; readonly responses: object }
type Document = {
  readonly openapi: string
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: { readonly schemas: object; readonly securitySchemes: object }
}

const document = describeAdminApi('test') as Document
const METHODS = ['get', 'put', 'post', 'patch', 'delete']

function routesOf(layers: readonly Layer[]): string[] {
  const routes = layers.flatMap(({ path, methods }) => methods.map((method) => ({ path: String(path), method })))
  return routes
    .filter(({ path, method }) => method !== 'HEAD' && path !== '/admin/api/openapi.json')
    .map(({ path, method }) => `${method} ${path.replaceAll(/[:*](\w+)/g, '{$1}')}`)
    .sort()
}

test('OpenAPI describes exactly the routes that the API has', () => {
  // The routes are only registered, never called, so the rest of the host is not needed.
  const parts = { requireAdmin: () => {}, version: 'test', limits: createLimits() } as unknown as AdminApiParts
  const described = Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => Object.hasOwn(item, method)).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(described.sort()).toEqual(routesOf(adminApi(parts).stack))
})

test('OpenAPI: every path declares its parameters', () => {
  const named = Object.entries(document.paths).map(([path, item]) => {
    const own = (item.parameters ?? []) as unknown as { name: string; in: string }[]
    return [path, own.filter((one) => one.in === 'path').map(({ name }) => `{${name}}`)]
  })
  expect(named).toEqual(Object.keys(document.paths).map((path) => [path, path.match(/\{\w+\}/g) ?? []]))
})

test('OpenAPI: every reference has a definition', () => {
  const referred = JSON.stringify(document).match(/#\/components\/schemas\/\w+/g) ?? []
  const known = Object.keys(document.components.schemas)
  expect(referred.map((ref) => ref.split('/').at(-1)).filter((name) => !known.includes(name as string))).toEqual([])
})

test('OpenAPI: the security schemes are the admin account and tokens', () => {
  expect(document.openapi).toBe('3.1.0')
  expect(document.components.securitySchemes).toEqual({
    admin: { type: 'http', scheme: 'basic' },
    token: { type: 'http', scheme: 'bearer' },
  })
})
