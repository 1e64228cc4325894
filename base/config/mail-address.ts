import { z } from '../../runtime/zod.ts'

/**
 * A recipient's email address. Chosen here: only addresses that all mail servers parse the same way are allowed. No
 * part of them can be mistaken for a second address or a header.
 */
export const MailAddress = z
  .email('must be an email address such as anna@example.org')
  .max(254, 'must be an email address of at most 254 characters')
