import { type FormEvent, type InputHTMLAttributes, type ReactNode, useId } from 'react'

interface FormValues {
  /** @returns the trimmed text of a field; '' if the field doesn't exist. */
  readonly text: (name: string) => string
  /** @returns whether a checkbox is checked. */
  readonly has: (name: string) => boolean
}

interface FormProps {
  readonly onSubmit: (form: FormValues) => void
  readonly onChange?: () => void
  readonly className?: string
  readonly children: ReactNode
}

export function Form({ onSubmit, className = 'form stack', ...rest }: FormProps) {
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    onSubmit({ text: (name) => String(data.get(name) ?? '').trim(), has: (name) => data.has(name) })
  }
  return <form className={className} onSubmit={submit} {...rest} />
}

type InputProps = InputHTMLAttributes<HTMLInputElement>

export function Field({ label, ...input }: InputProps & { readonly label: string; readonly name: string }) {
  const id = useId()
  return (
    <>
      <label htmlFor={id}>{label}</label>
      <input id={id} autoComplete="off" {...input} />
    </>
  )
}

export function Check({ children, title, ...input }: InputProps) {
  return (
    <label className="check inline table-text" title={title}>
      <input type="checkbox" {...input} /> {children}
    </label>
  )
}
