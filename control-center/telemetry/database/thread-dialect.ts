import { Worker } from 'node:worker_threads'
import {
  CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { Answer, Question, ThreadData } from './sqlite-thread.ts'

/**
 * Kysely dialect for an SQLite file that a separate thread reads or writes. node:sqlite is synchronous. On the main
 * thread, the constant writes of telemetry, large searches and deletions would delay every page.
 */
export function threadDialect(data: ThreadData): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new ThreadDriver(data),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  }
}

type Waiting = { readonly resolve: (answer: Answer) => void; readonly reject: (error: Error) => void }

class ThreadDriver implements Driver {
  private readonly data: ThreadData
  private connection: ThreadConnection | null = null
  /** Lets only one caller at a time use the connection. */
  private last: Promise<void> = Promise.resolve()
  private letNext = () => {}

  constructor(data: ThreadData) {
    this.data = data
  }

  async init(): Promise<void> {
    this.connection = new ThreadConnection(this.data)
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    const before = this.last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.last = promise
    await before
    this.letNext = resolve
    if (this.connection === null) throw new TypeError('the database was not opened')
    try {
      // If the thread was terminated, its queries have already failed. Start a new thread for the next caller.
      if (this.connection.hasFailed()) this.connection = new ThreadConnection(this.data)
    } catch (error) {
      // No thread could be started, for example because there are no file descriptors left. This caller has nothing to
      // release, so let the next one try.
      resolve()
      throw error
    }
    return this.connection
  }

  async releaseConnection(): Promise<void> {
    this.letNext()
  }

  async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(this.data.readOnly ? 'begin' : 'begin immediate'))
  }

  async commitTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('commit'))
  }

  async rollbackTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw('rollback'))
  }

  async destroy(): Promise<void> {
    await this.connection?.close()
  }
}

class ThreadConnection implements DatabaseConnection {
  private readonly worker: Worker
  private readonly waiting = new Map<number, Waiting>()
  private readonly ended: Promise<void>
  private failure: Error | null = null
  private number = 0

  constructor(data: ThreadData) {
    this.worker = new Worker(new URL('sqlite-thread.ts', import.meta.url), { workerData: data, name: 'telemetry' })
    this.worker.on('message', (answer: Answer) => {
      const one = this.waiting.get(answer.id)
      this.waiting.delete(answer.id)
      one?.resolve(answer)
    })
    this.ended = new Promise((resolve) => {
      this.worker.once('exit', () => {
        this.fail(new Error('the telemetry database’s thread has stopped'))
        resolve()
      })
    })
    this.worker.once('error', (error) => this.fail(error as Error))
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    const answer = await this.ask(sql, parameters)
    if ('error' in answer) {
      const { message, errcode } = answer.error
      throw Object.assign(new Error(message), { code: 'ERR_SQLITE_ERROR', errcode })
    }
    const rows = answer.rows as R[]
    return answer.changes === null ? { rows } : { rows, numAffectedRows: BigInt(answer.changes) }
  }

  streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new TypeError('the telemetry database does not support streaming rows')
  }

  hasFailed(): boolean {
    return this.failure !== null
  }

  async close(): Promise<void> {
    this.worker.postMessage(null)
    await this.ended
  }

  private ask(sql: string, parameters: readonly unknown[]): Promise<Answer> {
    if (this.failure !== null) return Promise.reject(this.failure)
    return new Promise((resolve, reject) => {
      const id = ++this.number
      this.waiting.set(id, { resolve, reject })
      this.worker.postMessage({ id, sql, parameters } satisfies Question)
    })
  }

  private fail(error: Error): void {
    this.failure ??= error
    for (const { reject } of this.waiting.values()) reject(this.failure)
    this.waiting.clear()
  }
}
