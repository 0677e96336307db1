import { useMutation, useQuery } from '@tanstack/react-query';
import { Button, Flex, Typography } from 'antd';
import { useState } from 'react';
import type { AppPricing } from '@/api/types';
import { queryClient } from '@/app/queries';
import { ActionError } from '@/features/billing/action-error';
import { Note } from '@/features/billing/dialog';
import { focusAfterChange } from '@/features/billing/focus';
import { LoadError, Loading, Section } from '@/features/billing/states';
import { reloadReviews } from '@/features/reviews/queries';
import { useSellingTexts } from '@/features/reviews/selling-texts';
import { Terms } from '@/features/reviews/terms';
import { announce } from '@/kit/announce';
import { PriceDialog } from './price-dialog';
import { pricingQuery, withdrawPrice } from './selling';

/** How an app is sold, and how it will be sold with its next version. */
export function AppPrice({ did }: { did: string }) {
  const { t } = useSellingTexts();
  const { data, error, refetch } = useQuery(pricingQuery(did));
  return (
    <Section id="price" title={t('price.title')}>
      {error && !data ? (
        <LoadError title={t('price.error')} error={error} onRetry={() => void refetch()} />
      ) : data ? (
        <Pricing pricing={data} />
      ) : (
        <Loading />
      )}
    </Section>
  );
}

function Pricing({ pricing }: { pricing: AppPricing }) {
  const { t } = useSellingTexts();
  const [isOpen, setOpen] = useState(false);
  /** What the last change here has done. */
  const [ended, setEnded] = useState(false);
  const { app_did: did, in_force: inForce, proposed } = pricing;
  const isPaid = inForce.type !== 'free' || (proposed !== null && proposed.type !== 'free');
  const show = (changed: AppPricing) => {
    queryClient.setQueryData(pricingQuery(did).queryKey, changed);
    reloadReviews(changed.proposed === null);
    setOpen(false);
    setEnded(changed.ended_auto_publish);
    announce(t(changed.proposed ? 'price.proposed' : 'price.changed'));
  };
  const withdraw = useMutation({
    mutationFn: () => withdrawPrice(did),
    onSuccess: (changed) => {
      queryClient.setQueryData(pricingQuery(did).queryKey, changed);
      reloadReviews(false);
      announce(t('price.withdrawn'));
      focusAfterChange('#price');
    },
  });
  return (
    <Flex vertical gap={16} align="stretch">
      <Typography.Text type="secondary" style={{ maxWidth: 640 }}>
        {t(pricing.livemode ? 'price.live' : 'price.test')}
      </Typography.Text>
      <Terms terms={inForce} />
      {proposed ? (
        <>
          <Note type="info" title={t('price.next')} description={<Terms terms={proposed} />} />
          <Button style={{ alignSelf: 'flex-start' }} loading={withdraw.isPending} onClick={() => withdraw.mutate()}>
            {t('price.withdraw')}
          </Button>
        </>
      ) : null}
      <ActionError title={t('price.notWithdrawn')} action={withdraw} />
      {ended ? <Note type="warning" title={t('price.endedAutomatic')} /> : null}
      {pricing.under_review ? <Note type="info" title={t('price.underReview')} /> : null}
      {pricing.paid_apps_allowed ? null : <Note type="info" title={t('price.notAllowed')} />}
      {pricing.paid_apps_allowed || isPaid ? (
        <Button style={{ alignSelf: 'flex-start' }} disabled={pricing.under_review} onClick={() => setOpen(true)}>
          {t('price.change')}
        </Button>
      ) : null}
      {isOpen ? <PriceDialog pricing={pricing} onClose={() => setOpen(false)} onDone={show} /> : null}
    </Flex>
  );
}
