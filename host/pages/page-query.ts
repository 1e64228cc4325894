import type { Context } from 'koa'

const LONGEST = 250

/** A parameter of a page's address; '' where there is none. Of a repeated one the last counts. */
export function queryText(ctx: Context, name: string): string {
  const value = ctx.query[name]
  return ((Array.isArray(value) ? value.at(-1) : value) ?? '').trim().slice(0, LONGEST)
}

/** The parameters that a form of filters has, those that are empty left out. */
export function queryTexts<const Name extends string>(
  ctx: Context,
  names: readonly Name[],
): Partial<Record<Name, string>> {
  const texts = names.map((name) => [name, queryText(ctx, name)] as const).filter(([, value]) => value !== '')
  return Object.fromEntries(texts) as Partial<Record<Name, string>>
}

/** An address with these parameters; absent and empty ones are left out. */
export function addressWith(path: string, parameters: Readonly<Record<string, string | number | undefined>>): string {
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`
}
