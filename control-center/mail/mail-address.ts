import { z } from '../../runtime/zod.ts'

/**
 * An address that mails are sent to. Chosen here: the form that all mail servers agree on, so that nothing in it can be
 * read as a second address or as a header.
 */
export const MailAddress = z
  .email('must be an e-mail address such as anna@example.org')
  .max(254, 'must be an e-mail address of at most 254 characters')
