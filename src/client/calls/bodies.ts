import type { z } from 'zod'
import type { bindRequestCreateSchema } from '../schemas/binding.ts'
import type { checkpointSchema, quoteProductsSchema } from '../schemas/checkpoint.ts'
import type { submissionCreateSchema } from '../schemas/submission-create.ts'
import type { threadPostSchema } from '../schemas/thread.ts'

/** What is sent, in the specification's own names; `producer_email` is the client's where it is left out. */
export type CreateBody = z.input<typeof submissionCreateSchema>
export type PostBody = z.input<typeof threadPostSchema>
/** `form_keys` trims the form set; required forms are always kept. */
export interface FormFillBody {
  readonly form_keys?: readonly string[]
  readonly producer_email?: string
}
export type CheckpointCommand = z.input<typeof checkpointSchema>
export type QuoteProductsBody = z.input<typeof quoteProductsSchema> & { readonly producer_email?: string }
export type BindRequestBody = z.input<typeof bindRequestCreateSchema>
