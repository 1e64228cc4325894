import { firstRows, insertOnce, put } from '../../base/database/portable.ts'
import { PlatformError } from '../../runtime/errors.ts'
import type { Place } from '../access/of-solution.ts'
import type { CenterDatabase } from '../database/tables.ts'
import { type Design, FIRST_DESIGN } from './design.ts'

/** A published version, without its design. */
export type LoginPageVersion = {
  /** Starts at 1 and increases with each publication. */
  readonly number: number
  readonly publishedAt: number
  /** The actor, as in the audit log: `user:{name}` or `token:{id}`. */
  readonly publishedBy: string
}

/** The login pages for solutions that use PLATFORM_CLOUD. */
export interface LoginPages {
  /** The page that users see. If no version has been published yet, the page has number 0 and the default design. */
  published(place: Place): Promise<{ readonly number: number; readonly design: Design }>
  /** The last ten versions, newest first. */
  history(place: Place): Promise<readonly LoginPageVersion[]>
  /** @throws ERR_VERSION_NOT_FOUND */
  version(place: Place, number: number): Promise<Design>
  /**
   * @param base the version that the design is based on, which must still be the newest; undefined skips this check
   * @throws ERR_CHANGED_MEANWHILE
   */
  publish(place: Place, design: Design, by: string, base?: number): Promise<LoginPageVersion>
  /** A person's unpublished draft; null if there is none. */
  draft(place: Place, person: string): Promise<Design | null>
  keepDraft(place: Place, person: string, design: Design): Promise<void>
  dropDraft(place: Place, person: string): Promise<void>
  /** Removes drafts that haven't been changed for a month. */
  sweep(): Promise<void>
}

const KEPT_VERSIONS = 10
/** How long an unchanged draft is kept, in ms. */
const DRAFT_KEPT = 30 * 24 * 3_600_000

/** @param now returns the current time in epoch milliseconds */
export function createLoginPages(db: CenterDatabase, now: () => number = Date.now): LoginPages {
  const versions = ({ organisation, solution }: Place) =>
    db
      .selectFrom('login_pages')
      .where('organisation', '=', organisation)
      .where('solution', '=', solution)
      .orderBy('number', 'desc')

  async function published(place: Place) {
    const row = await firstRows(db, versions(place).select(['number', 'design']), 1).executeTakeFirst()
    if (row === undefined) return { number: 0, design: FIRST_DESIGN }
    return { number: row.number, design: JSON.parse(row.design) as Design }
  }

  async function removeOld({ organisation, solution }: Place, newest: number): Promise<void> {
    await db
      .deleteFrom('login_pages')
      .where('organisation', '=', organisation)
      .where('solution', '=', solution)
      .where('number', '<=', newest - KEPT_VERSIONS)
      .execute()
  }

  return {
    published,
    async history(place) {
      const rows = await firstRows(
        db,
        versions(place).select(['number', 'published_at', 'published_by']),
        KEPT_VERSIONS,
      ).execute()
      return rows.map((row) => ({ number: row.number, publishedAt: row.published_at, publishedBy: row.published_by }))
    },
    async version(place, number) {
      const row = await versions(place).select('design').where('number', '=', number).executeTakeFirst()
      if (row !== undefined) return JSON.parse(row.design) as Design
      throw new PlatformError(
        'ERR_VERSION_NOT_FOUND',
        `The login page has no version ${number}. Old versions are deleted automatically.`,
      )
    },
    async publish({ organisation, solution }, design, by, base) {
      const place = { organisation, solution }
      for (;;) {
        const newest = (await published(place)).number
        if (base !== undefined && base !== newest) {
          throw new PlatformError(
            'ERR_CHANGED_MEANWHILE',
            `Version ${newest} was published after you started from version ${base}. Reload the page and make your changes again.`,
          )
        }
        const created = { number: newest + 1, publishedAt: now(), publishedBy: by }
        const row = {
          ...place,
          number: created.number,
          published_at: created.publishedAt,
          published_by: by.slice(0, 200),
        }
        if (!(await insertOnce(db, 'login_pages', { ...row, design: JSON.stringify(design) }))) continue
        await removeOld(place, created.number)
        return created
      }
    },
    async draft({ organisation, solution }, person) {
      const row = await db
        .selectFrom('login_page_drafts')
        .select('design')
        .where('organisation', '=', organisation)
        .where('solution', '=', solution)
        .where('person', '=', person)
        .executeTakeFirst()
      return row === undefined ? null : (JSON.parse(row.design) as Design)
    },
    async keepDraft({ organisation, solution }, person, design) {
      const row = { organisation, solution, person, design: JSON.stringify(design), changed_at: now() }
      await put(db, 'login_page_drafts', ['organisation', 'solution', 'person'], row)
    },
    async dropDraft({ organisation, solution }, person) {
      await db
        .deleteFrom('login_page_drafts')
        .where('organisation', '=', organisation)
        .where('solution', '=', solution)
        .where('person', '=', person)
        .execute()
    },
    async sweep() {
      await db
        .deleteFrom('login_page_drafts')
        .where('changed_at', '<', now() - DRAFT_KEPT)
        .execute()
    },
  }
}
