"""A small shop: every kind of relation and constraint that Django's migrations write."""

from django.contrib.auth.models import User
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now


class Tag(models.Model):
    name = models.SlugField(unique=True)


class Product(models.Model):
    class Kind(models.TextChoices):
        BOOK = "b", "Book"
        TOY = "t", "Toy"

    title = models.CharField(max_length=100, db_index=True)
    kind = models.CharField(max_length=1, choices=Kind.choices, default=Kind.BOOK)
    price = models.DecimalField(max_digits=8, decimal_places=2, db_default=0)
    gross = models.GeneratedField(expression=F("price") * 2, db_persist=True,
                                  output_field=models.DecimalField(max_digits=10, decimal_places=2))
    data = models.JSONField(default=dict)
    sizes = ArrayField(models.IntegerField(), default=list, size=5)
    tags = models.ManyToManyField(Tag, related_name="products")
    added = models.DateTimeField(db_default=Now())
    code = models.UUIDField(null=True, unique=True)

    class Meta:
        db_table_comment = "What is sold"
        constraints = [
            models.UniqueConstraint(Lower("title"), "kind", name="one_title"),
            models.UniqueConstraint(fields=["kind"], condition=Q(price__gt=1000),
                                    name="one_dear_of_a_kind"),
            models.CheckConstraint(condition=Q(price__gte=0), name="price_is_not_negative"),
        ]
        indexes = [
            models.Index(fields=["kind", "-price"], name="by_kind"),
            models.Index(fields=["price"], condition=Q(kind="t"), name="toys"),
            models.Index(Lower("title").desc(), name="by_title"),
        ]


class Order(models.Model):
    customer = models.ForeignKey(User, on_delete=models.CASCADE, related_name="orders")
    placed = models.DateField(auto_now_add=True)
    paid = models.BooleanField(default=False, db_comment="When the money is here")
    weight = models.FloatField(null=True)
    took = models.DurationField(null=True)
    file = models.BinaryField(null=True)
    products = models.ManyToManyField(Product, through="Line")


class Line(models.Model):
    order = models.ForeignKey(Order, on_delete=models.CASCADE, related_name="lines")
    product = models.ForeignKey(Product, on_delete=models.PROTECT)
    quantity = models.PositiveSmallIntegerField(default=1)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["order", "product"], name="once",
                                               deferrable=models.Deferrable.DEFERRED)]
        ordering = ["id"]
