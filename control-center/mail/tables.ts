import type { Steps } from '../../base/database/migrations.ts'

export type MailTables = {
  /**
   * Queued mails, stored so that a restart loses none of them. `sealed` is the mail's content, encrypted because its
   * links grant access. `next_at` is the time of the next attempt. `organisation` is the id of the organisation that
   * the mail is sent for, or '' for the control center itself.
   */
  mails: {
    id: string
    organisation: string
    sealed: string
    created_at: number
    next_at: number
    attempts: number
  }
  /**
   * The number of mails that an organisation has sent since `hour` (the start of the hour, in epoch ms). `asked_by` has
   * the same values as in `MailOrigin`.
   */
  mail_counts: {
    organisation: string
    asked_by: string
    hour: number
    count: number
  }
}

declare module '../database/tables.ts' {
  interface CenterTables extends MailTables {}
}

export const MAIL_STEPS: Steps = (schema, { key, text }) => [
  schema
    .createTable('mails')
    .addColumn('id', key, (column) => column.primaryKey())
    .addColumn('sealed', text, (column) => column.notNull())
    .addColumn('created_at', 'bigint', (column) => column.notNull())
    .addColumn('next_at', 'bigint', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull()),
  schema.createIndex('mails_due').on('mails').columns(['next_at']),
]

export const MAIL_SHARE_STEPS: Steps = (schema, { key }) => [
  schema.alterTable('mails').addColumn('organisation', key, (column) => column.notNull().defaultTo('')),
  schema.createIndex('mails_of_organisation').on('mails').columns(['organisation', 'next_at']),
  schema
    .createTable('mail_counts')
    .addColumn('organisation', key, (column) => column.notNull())
    .addColumn('asked_by', key, (column) => column.notNull())
    .addColumn('hour', 'bigint', (column) => column.notNull())
    .addColumn('count', 'integer', (column) => column.notNull())
    .addPrimaryKeyConstraint('mail_counts_key', ['organisation', 'asked_by']),
]
