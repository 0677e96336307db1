import { useMutation } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { api } from '@/api/client';
import type { TestClock } from '@/api/types';
import { queryClient } from '@/app/queries';
import { spokenError } from '@/i18n/spoken';
import { Alert } from '@/kit/alert';
import { Button } from '@/kit/button';
import { TextField } from '@/kit/field';
import styles from './test-clocks.module.css';
import { useTexts } from './texts';

/** Puts a customer, named by id or DID, on a clock of its own. */
export function StartClock() {
  const { t } = useTexts();
  const navigate = useNavigate();
  const [customer, setCustomer] = useState('');
  const [name, setName] = useState('');
  const [missing, setMissing] = useState(false);
  const start = useMutation({
    mutationFn: () =>
      api.post<TestClock>('/api/test-clocks', { customer_id: customer.trim(), name: name.trim() || customer.trim() }),
    onSuccess: async ({ id }) => {
      setCustomer('');
      setName('');
      await queryClient.invalidateQueries({ queryKey: ['test-clocks'] });
      await navigate({ to: '/console/test-clocks', search: { id } });
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setMissing(!customer.trim());
    if (customer.trim()) start.mutate();
    else document.getElementById('clock-customer')?.focus();
  };
  return (
    <form className={styles.form} onSubmit={submit} noValidate>
      <TextField
        id="clock-customer"
        name="customer"
        label={t('clocks.customer')}
        hint={t('clocks.customerHint')}
        error={missing ? t('clocks.customerMissing') : undefined}
        value={customer}
        required
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => {
          setCustomer(event.target.value);
          setMissing(false);
        }}
      />
      <TextField
        id="clock-name"
        name="name"
        label={t('clocks.name')}
        optional={t('clocks.optional')}
        value={name}
        autoComplete="off"
        maxLength={80}
        onChange={(event) => setName(event.target.value)}
      />
      {start.isError ? (
        <Alert tone="danger" urgent title={t('clocks.notStarted')}>
          <p>{spokenError(start.error)}</p>
        </Alert>
      ) : null}
      <Button type="submit" busy={start.isPending}>
        {t('clocks.startAction')}
      </Button>
    </form>
  );
}
