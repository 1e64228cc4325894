import { lineAndColumn } from './strict-json.ts'

/** Line and column count from 1; absent if the position is unknown. */
export type JsonPlace = { readonly line?: number; readonly column?: number }

/** Finds positions in a JSON text, for errors that are found after parsing. */
export interface JsonPlaces {
  /**
   * Returns the position of the value at a path. If the value is missing, returns the position of the object or list
   * that would contain it.
   */
  value(path: readonly PropertyKey[]): JsonPlace
  /** The position of the key at the end of a path. */
  key(path: readonly PropertyKey[]): JsonPlace
  /** The position of the first string value equal to `text`. */
  text(text: string): JsonPlace
}

/** Used if there is no JSON text: no position is known. */
export const NO_PLACES: JsonPlaces = { value: () => ({}), key: () => ({}), text: () => ({}) }

/** The offset of a value, and the offset of its key. For a list item, both are the item's offset. */
type Spot = { readonly value: number; readonly key: number; readonly inside: Map<string, Spot> }

/** The children of a value that is neither an object nor a list: always empty. */
const EMPTY: Spot['inside'] = new Map()

const TOKEN = /[\s,:]*(?:([{}[\]])|("(?:[^"\\]|\\.)*")|([^\s{}[\],:"]+))/y

/** @param source a text that `parseStrictJson` accepted; it is scanned when the first position is requested */
export function jsonPlaces(source: string): JsonPlaces {
  let known: ReturnType<typeof findSpots> | null = null
  const spots = () => {
    known ??= findSpots(source)
    return known
  }
  const placeAt = (offset: number | undefined) => (offset === undefined ? {} : lineAndColumn(source, offset))
  return {
    value(path) {
      const way = wayTo(spots().root, path)
      return placeAt(way.at(-1)?.value)
    },
    key(path) {
      const way = wayTo(spots().root, path)
      return placeAt(way.length > path.length ? way.at(-1)?.key : undefined)
    },
    text: (text) => placeAt(spots().texts.get(text)),
  }
}

/** Returns the spots along the path, starting at the root and stopping at the first part that doesn't exist. */
function wayTo(root: Spot | undefined, path: readonly PropertyKey[]): Spot[] {
  const way = root === undefined ? [] : [root]
  for (const step of path) {
    const next = way.at(-1)?.inside.get(String(step))
    if (next === undefined) return way
    way.push(next)
  }
  return way
}

function findSpots(source: string): { readonly root: Spot | undefined; readonly texts: ReadonlyMap<string, number> } {
  const top = { value: 0, key: 0, inside: new Map<string, Spot>() }
  const texts = new Map<string, number>()
  const open: { readonly spot: Spot; readonly isList: boolean }[] = [{ spot: top, isList: true }]
  /** The key of the value that is read next. */
  let key: { readonly name: string; readonly at: number } | null = null

  function add(at: number, into: Spot['inside'] = EMPTY): Spot {
    const inside = open.at(-1)?.spot.inside ?? top.inside
    const spot = { value: at, key: key?.at ?? at, inside: into }
    inside.set(key?.name ?? String(inside.size), spot)
    key = null
    return spot
  }

  TOKEN.lastIndex = 0
  for (let match = TOKEN.exec(source); match !== null; match = TOKEN.exec(source)) {
    const [, bracket, text, word] = match
    const at = TOKEN.lastIndex - (bracket ?? text ?? word ?? '').length
    if (bracket === '{' || bracket === '[') open.push({ spot: add(at, new Map()), isList: bracket === '[' })
    else if (bracket !== undefined) open.pop()
    else if (text === undefined) add(at)
    else if (key === null && open.at(-1)?.isList === false) key = { name: JSON.parse(text) as string, at }
    else {
      add(at)
      const value = JSON.parse(text) as string
      if (!texts.has(value)) texts.set(value, at)
    }
  }
  return { root: top.inside.get('0'), texts }
}
